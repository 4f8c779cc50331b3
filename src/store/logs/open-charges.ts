/** Knows the open_charges table: which responses and runs at providers were charged more than anybody knows them to have used. */
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';

interface OpenChargeRow {
  organisation_id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  /** `responses`, or `threads` for a run. */
  kind: string;
  /** Of the response, or of the thread of the run. */
  object_id: string;
  /** '' for a response. */
  run_id: string;
  /** As in owned_objects. */
  provider: string;
  /** Of the request that was charged: an object that two were told of is open for the first. */
  id: Buffer;
  /** What was charged of which counters, and by which prices; JSON. */
  terms: string;
  /** When the request came; milliseconds since the epoch. */
  created_at: number;
  /** When the provider is asked next what it has used. */
  look_at: number;
  /** `ended_at` and `id` of its row in the log, and the totals that count it; null until there is one. */
  logged_at: number | null;
  log_id: Buffer | null;
  totals_id: Buffer | null;
  /** What it has used, where that was settled before the log had its row; JSON. */
  used: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    open_charges: OpenChargeRow;
  }
}

export type OpenCharge = OpenChargeRow;

/** Which one, to the request that was charged. */
export type OpenChargeKey = Pick<
  OpenChargeRow,
  'organisation_id' | 'workspace_id' | 'kind' | 'object_id' | 'run_id' | 'provider' | 'id'
>;

/** One that the log has no row of yet. */
export type NewCharge = Omit<OpenChargeRow, 'logged_at' | 'log_id' | 'totals_id' | 'used'>;

/** Where the log tells of a request. */
export interface LogPlace {
  readonly endedAt: number;
  readonly id: Buffer;
  /** Of the totals that count it. */
  readonly totalsId: Buffer;
}

/** Notes one; that of an object which has one stays as it is. */
export async function insert(db: Db, row: NewCharge): Promise<void> {
  await db.insertInto('open_charges').ignore().values(row).execute();
}

interface Of extends Record<string, unknown> {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly kind: string;
  readonly objectId: string;
}

/** No thread has as many runs that nobody asks for. */
const ofObjectMax = 200;

const byObject = statement((db, of: Of) =>
  db
    .selectFrom('open_charges')
    .selectAll()
    .where('organisation_id', '=', of.organisationId)
    .where('workspace_id', '=', of.workspaceId)
    .where('kind', '=', of.kind)
    .where('object_id', '=', of.objectId)
    .where('used', 'is', null)
    .limit(ofObjectMax),
);

/** Those of one response, or of the runs of one thread. */
export function listOf(db: Db, of: Of): Promise<OpenCharge[]> {
  return byObject.all(db, of);
}

/** Some that are due at `now`, those first that have been for longest; settled ones that the log has not told in time, too. */
export function listDue(db: Db, now: number, limit: number): Promise<OpenCharge[]> {
  return db
    .selectFrom('open_charges')
    .selectAll()
    .where('look_at', '<=', now)
    .orderBy('look_at')
    .limit(limit)
    .execute();
}

/** Says when it is looked at again; false where somebody else has said so, or it is open no more. */
export async function putOff(db: Db, row: OpenCharge, lookAt: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('open_charges')
    .set({ look_at: lookAt })
    .where((eb) => eb.and({ ...keyOf(row), look_at: row.look_at }))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** As it is now, until the transaction ends; undefined where somebody else has settled it. */
export function lock(tx: Db, key: OpenChargeKey): Promise<OpenCharge | undefined> {
  return tx
    .selectFrom('open_charges')
    .selectAll()
    .where((eb) => eb.and(keyOf(key)))
    .where('used', 'is', null)
    .forUpdate()
    .executeTakeFirst();
}

/** Says where the log tells of its request; false where it is settled, or there is none. */
export async function noteLogged(
  tx: Db,
  key: OpenChargeKey,
  { endedAt, id, totalsId }: LogPlace,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('open_charges')
    .set({ logged_at: endedAt, log_id: id, totals_id: totalsId })
    .where((eb) => eb.and(keyOf(key)))
    .where('used', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Keeps what was used until the log has its row, until `lookAt` at most. */
export async function keepUsed(
  tx: Db,
  key: OpenChargeKey,
  used: string,
  lookAt: number,
): Promise<void> {
  await tx
    .updateTable('open_charges')
    .set({ used, look_at: lookAt })
    .where((eb) => eb.and(keyOf(key)))
    .execute();
}

/** What was kept by {@link keepUsed}, for whoever writes the row; null for nothing. */
export async function takeUsed(tx: Db, key: OpenChargeKey): Promise<string | null> {
  const found = await tx
    .selectFrom('open_charges')
    .select('used')
    .where((eb) => eb.and(keyOf(key)))
    .forUpdate()
    .executeTakeFirst();
  if (found === undefined) return null;
  await deleteOne(tx, key);
  return found.used;
}

export async function deleteOne(tx: Db, key: OpenChargeKey): Promise<void> {
  await tx
    .deleteFrom('open_charges')
    .where((eb) => eb.and(keyOf(key)))
    .execute();
}

function keyOf(key: OpenChargeKey): OpenChargeKey {
  const { organisation_id, workspace_id, kind, object_id, run_id, provider, id } = key;
  return { organisation_id, workspace_id, kind, object_id, run_id, provider, id };
}
