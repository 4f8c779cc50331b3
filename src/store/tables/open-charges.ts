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
  /** What was charged of which counters, and by which prices; JSON. */
  terms: string;
  /** When the request came; milliseconds since the epoch. */
  created_at: number;
  /** When the provider is asked next what it has used. */
  look_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    open_charges: OpenChargeRow;
  }
}

export type OpenCharge = OpenChargeRow;

/** Notes one; that of an object which has one stays as it is. */
export async function insert(db: Db, row: OpenCharge): Promise<void> {
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
    .limit(ofObjectMax),
);

/** Those of one response, or of the runs of one thread. */
export function listOf(db: Db, of: Of): Promise<OpenCharge[]> {
  return byObject.all(db, of);
}

/** Some that are due at `now`, those first that have been for longest. */
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

/** Ends one; false where somebody else has. */
export async function deleteOne(tx: Db, row: OpenCharge): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('open_charges')
    .where((eb) => eb.and(keyOf(row)))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

function keyOf({ organisation_id, workspace_id, kind, object_id, run_id, provider }: OpenCharge) {
  return { organisation_id, workspace_id, kind, object_id, run_id, provider };
}
