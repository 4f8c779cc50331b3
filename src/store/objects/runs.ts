/** Table functions for runs: the state of each run and the lease of the process that drives it. */
import { sql } from 'kysely';
import type { RunStatus } from '../../model/objects/run-states.ts';
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface RunRow {
  organisation_id: string;
  id: string;
  thread_id: string;
  assistant_id: string;
  status: RunStatus;
  /** 1 until the run has ended, then null: unique within a thread. */
  active: number | null;
  /** JSON object: model and parameters. */
  terms: string;
  /** JSON object. */
  metadata: string;
  /** JSON object: the caller on whose behalf the model is called. */
  caller: string;
  /** Number of responses of the model so far. */
  turn: number;
  /** JSON list of tool calls that wait for outputs; null for none. */
  pending_calls: string | null;
  /** JSON object: why the run failed or is incomplete; else null. */
  failure: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  /** Random id of the process that drives the run, new for each claim; null for none. */
  lease_owner: string | null;
  /** When another process may claim the run. */
  lease_until: number | null;
  /** Number of claims during this turn. */
  lease_count: number;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    runs: RunRow;
  }
}

export type StoredRun = RunRow;

/** A thread or run whose owner has been checked. */
type CheckedKey = Readonly<{ organisation_id: string; id: string }>;

export interface RunLease {
  readonly owner: string;
  readonly until: number;
}

/** States in which a process must act. */
const driven: readonly RunStatus[] = ['queued', 'in_progress', 'cancelling'];

const table = rows('runs');

const ofThread = ({ organisation_id, id }: CheckedKey) => ({ organisation_id, thread_id: id });
const keyOf = ({ organisation_id, id }: CheckedKey) => ({ organisation_id, id });

/** Throws errno 1062 when the thread has another run that has not ended. */
export const { insert } = table;

export function find(db: Db, thread: CheckedKey, id: string): Promise<StoredRun | undefined> {
  return table.find(db, { ...ofThread(thread), id });
}

/** The run of a thread that has not ended. */
export function findActive(db: Db, thread: CheckedKey): Promise<StoredRun | undefined> {
  return table.find(db, { ...ofThread(thread), active: 1 });
}

/** Returns undefined when another process has claimed the run. */
export function findOwned(db: Db, run: CheckedKey, owner: string): Promise<StoredRun | undefined> {
  return table.find(db, { ...keyOf(run), lease_owner: owner });
}

/** One page, and one more row when more exist. */
export function list(db: Db, thread: CheckedKey, page: CreatedPage): Promise<StoredRun[]> {
  return createdPage(table.matching(db, ofThread(thread)).selectAll(), page).execute();
}

export async function updateMetadata(db: Db, run: CheckedKey, metadata: string): Promise<void> {
  await table.update(db, keyOf(run), { metadata });
}

/** Conditions under which a run is updated. */
export interface RunCondition {
  readonly from: readonly RunStatus[];
  /** Only while this process drives it. */
  readonly owner?: string;
  /** Only at this turn. */
  readonly turn?: number;
  /** Only if it has expired at this time. */
  readonly expiredAt?: number;
  /** Only if it has not expired at this time. */
  readonly aliveAt?: number;
}

type RunChange = Partial<
  Pick<
    StoredRun,
    | 'status'
    | 'active'
    | 'turn'
    | 'pending_calls'
    | 'failure'
    | 'prompt_tokens'
    | 'completion_tokens'
    | 'lease_owner'
    | 'lease_until'
    | 'lease_count'
    | 'started_at'
    | 'ended_at'
  >
>;

/** Updates a run with one conditional statement; returns whether the conditions held. */
export async function update(
  db: Db,
  run: CheckedKey,
  { from, owner, turn, expiredAt, aliveAt }: RunCondition,
  set: RunChange,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set(set)
    .where('organisation_id', '=', run.organisation_id)
    .where('id', '=', run.id)
    .where('status', 'in', from)
    .$if(owner !== undefined, (query) => query.where('lease_owner', '=', owner!))
    .$if(turn !== undefined, (query) => query.where('turn', '=', turn!))
    .$if(expiredAt !== undefined, (query) => query.where('expires_at', '<=', expiredAt!))
    .$if(aliveAt !== undefined, (query) => query.where('expires_at', '>', aliveAt!))
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Claims a run whose lease has expired; returns whether no other process did. */
export async function claim(
  db: Db,
  run: CheckedKey,
  lease: RunLease,
  now: number,
): Promise<boolean> {
  const where = { ...keyOf(run), status: driven, lease_until: atMost(now) };
  const claimed = await table.update(db, where, {
    lease_owner: lease.owner,
    lease_until: lease.until,
    lease_count: sql<number>`lease_count + 1`,
  });
  return claimed > 0;
}

/** Up to `limit` runs of any organisation whose lease has expired. */
export function listLost(db: Db, now: number, limit: number): Promise<StoredRun[]> {
  return table.listAnywhere(
    db,
    { active: 1, lease_until: atMost(now), status: driven },
    { orderBy: ['lease_until'], limit },
  );
}

/** Up to `limit` runs of any organisation that have expired and are not marked so yet. */
export function listExpired(db: Db, now: number, limit: number): Promise<StoredRun[]> {
  return table.listAnywhere(
    db,
    {
      active: 1,
      expires_at: atMost(now),
      status: ['queued', 'in_progress', 'requires_action'],
    },
    { orderBy: ['expires_at'], limit },
  );
}
