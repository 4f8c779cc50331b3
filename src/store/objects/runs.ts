/** Knows the runs table: each run with its state, and who drives it until when. */
import { sql } from 'kysely';
import type { RunStatus } from '../../model/objects/run-states.ts';
import type { Db } from '../connection/db.ts';
import { type CreatedPage, isBetween } from '../rows/created-page.ts';

interface RunRow {
  organisation_id: string;
  id: string;
  thread_id: string;
  assistant_id: string;
  status: RunStatus;
  /** 1 until it has ended, then null: a thread has one at a time. */
  active: number | null;
  /** JSON object: how its model is asked. */
  terms: string;
  /** JSON object. */
  metadata: string;
  /** JSON object: on whose behalf the model is asked. */
  caller: string;
  /** How often the model has answered. */
  turn: number;
  /** JSON list of calls whose outputs are waited for; null for none. */
  pending_calls: string | null;
  /** JSON object: why it failed, or was cut short; null otherwise. */
  failure: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  /** Who drives it, anew each time; null for nobody. */
  lease_owner: string | null;
  /** Then somebody else may. */
  lease_until: number | null;
  /** How many have driven this turn. */
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

/** A thread or run whose owner is known. */
type Known = Readonly<{ organisation_id: string; id: string }>;

export interface Lease {
  readonly owner: string;
  readonly until: number;
}

/** In these somebody has to do something. */
const driven: readonly RunStatus[] = ['queued', 'in_progress', 'cancelling'];

/** Rejects as a duplicate where the thread has another that has not ended. */
export async function insert(db: Db, row: StoredRun): Promise<void> {
  await db.insertInto('runs').values(row).execute();
}

export function find(db: Db, thread: Known, id: string): Promise<StoredRun | undefined> {
  return db
    .selectFrom('runs')
    .selectAll()
    .where('organisation_id', '=', thread.organisation_id)
    .where('id', '=', id)
    .where('thread_id', '=', thread.id)
    .executeTakeFirst();
}

/** That of a thread which has not ended. */
export function findActive(db: Db, thread: Known): Promise<StoredRun | undefined> {
  return db
    .selectFrom('runs')
    .selectAll()
    .where('organisation_id', '=', thread.organisation_id)
    .where('thread_id', '=', thread.id)
    .where('active', '=', 1)
    .executeTakeFirst();
}

/** While it is still this owner's. */
export function findOwned(db: Db, run: Known, owner: string): Promise<StoredRun | undefined> {
  return db
    .selectFrom('runs')
    .selectAll()
    .where('organisation_id', '=', run.organisation_id)
    .where('id', '=', run.id)
    .where('lease_owner', '=', owner)
    .executeTakeFirst();
}

/** At most one more than the limit, which tells that there are more. */
export function list(db: Db, thread: Known, page: CreatedPage): Promise<StoredRun[]> {
  return db
    .selectFrom('runs')
    .selectAll()
    .where('organisation_id', '=', thread.organisation_id)
    .where('thread_id', '=', thread.id)
    .where(isBetween(page))
    .orderBy('created_at', page.order)
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute();
}

export async function updateMetadata(db: Db, run: Known, metadata: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ metadata })
    .where('organisation_id', '=', run.organisation_id)
    .where('id', '=', run.id)
    .execute();
}

/** What a run has to be for a change of it to be made. */
export interface RunWhen {
  readonly from: readonly RunStatus[];
  /** Only while this one drives it. */
  readonly owner?: string;
  /** Only while the model has answered this often. */
  readonly turn?: number;
  /** Only when it is over then. */
  readonly expiredAt?: number;
  /** Only when it is not over then. */
  readonly aliveAt?: number;
}

/** What becomes of it. */
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

/** One conditional statement; whether the run was as it has to be. */
export async function update(
  db: Db,
  run: Known,
  { from, owner, turn, expiredAt, aliveAt }: RunWhen,
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

/** Takes over a run whose driver gives no sign of life; whether nobody else did. */
export async function claim(db: Db, run: Known, lease: Lease, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({ lease_owner: lease.owner, lease_until: lease.until })
    .set('lease_count', sql<number>`lease_count + 1`)
    .where('organisation_id', '=', run.organisation_id)
    .where('id', '=', run.id)
    .where('status', 'in', driven)
    .where('lease_until', '<=', now)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Up to `limit` whose drivers give no sign of life, of whatever organisation. */
export function listLost(db: Db, now: number, limit: number): Promise<StoredRun[]> {
  return db
    .selectFrom('runs')
    .selectAll()
    .where('active', '=', 1)
    .where('lease_until', '<=', now)
    .where('status', 'in', driven)
    .orderBy('lease_until')
    .limit(limit)
    .execute();
}

/** Up to `limit` that are over and that nobody has ended, of whatever organisation. */
export function listExpired(db: Db, now: number, limit: number): Promise<StoredRun[]> {
  return db
    .selectFrom('runs')
    .selectAll()
    .where('active', '=', 1)
    .where('expires_at', '<=', now)
    .where('status', 'in', ['queued', 'in_progress', 'requires_action'])
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}
