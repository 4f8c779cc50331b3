/** Table functions for open_charges: background responses and runs charged at their upper bound until usage is known. */
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface OpenChargeRow {
  organisation_id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  /** `responses`, or `threads` for a run. */
  kind: string;
  /** Id of the response, or of the run's thread. */
  object_id: string;
  /** '' for a response. */
  run_id: string;
  /** As in owned_objects. */
  provider: string;
  /** Id of the charged request. When two requests concern one object, the first one has the charge. */
  id: Buffer;
  /** JSON: the charged counters, amounts and prices. */
  terms: string;
  /** When the request arrived; milliseconds since the epoch. */
  created_at: number;
  /** When the provider is queried next for the usage. */
  look_at: number;
  /** `ended_at` and `id` of its log entry, and the id of its totals; null until the entry is written. */
  logged_at: number | null;
  log_id: Buffer | null;
  totals_id: Buffer | null;
  /** JSON: the usage, when it was settled before the log entry was written. */
  used: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    open_charges: OpenChargeRow;
  }
}

export type OpenCharge = OpenChargeRow;

/** Identifies an open charge and its request. */
export type OpenChargeKey = Pick<
  OpenChargeRow,
  'organisation_id' | 'workspace_id' | 'kind' | 'object_id' | 'run_id' | 'provider' | 'id'
>;

/** A charge whose request has no log entry yet. */
export type NewCharge = Omit<OpenChargeRow, 'logged_at' | 'log_id' | 'totals_id' | 'used'>;

/** Keys of the log entry and the totals of a request. */
export interface LogEntryKeys {
  readonly endedAt: number;
  readonly id: Buffer;
  /** Id of the totals that include the request. */
  readonly totalsId: Buffer;
}

const table = rows('open_charges');

/** Records a charge; an existing charge of the same object stays as it is. */
export async function insert(db: Db, row: NewCharge): Promise<void> {
  await db.insertInto('open_charges').ignore().values(row).execute();
}

interface ChargedObject extends Record<string, unknown> {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly kind: string;
  readonly objectId: string;
}

/** More open runs than a thread can have. */
const ofObjectMax = 200;

const byObject = statement((db, of: ChargedObject) =>
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

/** Open charges of one response, or of the runs of one thread. */
export function listOf(db: Db, of: ChargedObject): Promise<OpenCharge[]> {
  return byObject.all(db, of);
}

/** Rows of any organisation that are due at `now`, the longest due first, including settled ones without a log entry. */
export function listDue(db: Db, now: number, limit: number): Promise<OpenCharge[]> {
  return table.listAnywhere(db, { look_at: atMost(now) }, { orderBy: ['look_at'], limit });
}

/** Sets the time of the next query; returns false when another process did, or the charge is settled. */
export async function putOff(db: Db, row: OpenCharge, lookAt: number): Promise<boolean> {
  return (await table.update(db, { ...keyOf(row), look_at: row.look_at }, { look_at: lookAt })) > 0;
}

/** Locks an unsettled charge until the transaction ends. */
export function lock(tx: Db, key: OpenChargeKey): Promise<OpenCharge | undefined> {
  return table.findForUpdate(tx, { ...keyOf(key), used: null });
}

/** Records the log entry of an unsettled charge; returns false when there is none. */
export async function noteLogged(
  tx: Db,
  key: OpenChargeKey,
  { endedAt, id, totalsId }: LogEntryKeys,
): Promise<boolean> {
  const set = { logged_at: endedAt, log_id: id, totals_id: totalsId };
  return (await table.update(tx, { ...keyOf(key), used: null }, set)) > 0;
}

/** Stores the usage until the log entry is written, at most until `lookAt`. */
export async function keepUsed(
  tx: Db,
  key: OpenChargeKey,
  used: string,
  lookAt: number,
): Promise<void> {
  await table.update(tx, keyOf(key), { used, look_at: lookAt });
}

/** Returns the usage stored by {@link keepUsed} and deletes the charge; null when there is none. */
export async function takeUsed(tx: Db, key: OpenChargeKey): Promise<string | null> {
  const charge = await table.findForUpdate(tx, keyOf(key));
  if (charge === undefined) return null;
  await deleteOne(tx, key);
  return charge.used;
}

export async function deleteOne(tx: Db, key: OpenChargeKey): Promise<void> {
  await table.delete(tx, keyOf(key));
}

function keyOf(key: OpenChargeKey): OpenChargeKey {
  const { organisation_id, workspace_id, kind, object_id, run_id, provider, id } = key;
  return { organisation_id, workspace_id, kind, object_id, run_id, provider, id };
}
