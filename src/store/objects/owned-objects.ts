/** Knows the owned_objects table: which objects at providers are whose. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';

interface OwnedObjectRow {
  organisation_id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  kind: string;
  /** As the provider names it. */
  object_id: string;
  /** `@` and the id of one of a workspace; else the name of a service. */
  provider: string;
  api_key_id: string;
  /** When the gateway learned of it; milliseconds since the epoch. */
  created_at: number;
  deleted_at: number | null;
  /** When it is looked whether the provider still has it, or the row goes. */
  look_at: number;
  /** Within which there is one of this id, whichever workspaces ask it: an integration, else the workspace itself. */
  account: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    owned_objects: OwnedObjectRow;
  }
}

export type OwnedObject = OwnedObjectRow;

/** Whose objects of one kind. */
interface Of {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly kind: string;
}

/** As many rows as go into one statement. */
const rowsMax = 200;

/** Notes objects; those that are known already stay as they are, and those of an account whose first owner is another. */
export async function insertAll(db: Db, rows: readonly OwnedObject[]): Promise<void> {
  if (rows.length === 1) return insert(db, { ...rows[0]! });
  for (let at = 0; at < rows.length; at += rowsMax) {
    const some = rows.slice(at, at + rowsMax);
    await db.insertInto('owned_objects').ignore().values(some).execute();
  }
}

const insert = insertion((db, row: OwnedObject & Record<string, unknown>) =>
  db.insertInto('owned_objects').ignore().values(row),
);

/** Whether it was not known. */
export async function noteFound(tx: Db, row: OwnedObject): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('owned_objects')
    .ignore()
    .values(row)
    .executeTakeFirstOrThrow();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

const byId = statement(
  (db, of: { organisationId: string; workspaceId: string; kind: string; id: string }) =>
    db
      .selectFrom('owned_objects')
      .selectAll()
      .where('organisation_id', '=', of.organisationId)
      .where('workspace_id', '=', of.workspaceId)
      .where('kind', '=', of.kind)
      .where('object_id', '=', of.id)
      .where('deleted_at', 'is', null)
      .orderBy('created_at', 'desc')
      .limit(1),
);

/** The one that was made last, where several providers have one of this id. */
export function find(db: Db, of: Of, id: string): Promise<OwnedObject | undefined> {
  const { organisationId, workspaceId, kind } = of;
  return byId.first(db, { organisationId, workspaceId, kind, id });
}

/** Those of the ids that are known. */
export async function listKnown(db: Db, of: Of, ids: readonly string[]): Promise<OwnedObject[]> {
  return db
    .selectFrom('owned_objects')
    .selectAll()
    .where('organisation_id', '=', of.organisationId)
    .where('workspace_id', '=', of.workspaceId)
    .where('kind', '=', of.kind)
    .where('object_id', 'in', ids)
    .where('deleted_at', 'is', null)
    .execute();
}

/** Where a page begins: what stands beyond this object. */
export type Beyond = Pick<OwnedObject, 'created_at' | 'object_id'>;

/** At most `limit`, of one provider, in the order in which they were made. */
export async function list(
  db: Db,
  of: Of & { readonly provider: string },
  page: {
    readonly limit: number;
    readonly order: 'asc' | 'desc';
    readonly after: Beyond | null;
    readonly before: Beyond | null;
  },
): Promise<OwnedObject[]> {
  const { limit, order, after, before } = page;
  const beyond = (at: Beyond | null, sign: '<' | '>', query: ReturnType<typeof all>) =>
    at === null
      ? query
      : query.where((eb) =>
          eb.or([
            eb('created_at', sign, at.created_at),
            eb.and([eb('created_at', '=', at.created_at), eb('object_id', sign, at.object_id)]),
          ]),
        );
  const all = () =>
    db
      .selectFrom('owned_objects')
      .selectAll()
      .where('organisation_id', '=', of.organisationId)
      .where('workspace_id', '=', of.workspaceId)
      .where('kind', '=', of.kind)
      .where('provider', '=', of.provider)
      .where('deleted_at', 'is', null);
  const [forwards, backwards] = order === 'asc' ? (['>', '<'] as const) : (['<', '>'] as const);
  return beyond(before, backwards, beyond(after, forwards, all()))
    .orderBy('created_at', order)
    .orderBy('object_id', order)
    .limit(limit)
    .execute();
}

/** The provider has it no more; the row stays until `lookAt`. */
export async function markDeleted(
  db: Db,
  row: OwnedObject,
  { now, lookAt }: { readonly now: number; readonly lookAt: number },
): Promise<void> {
  await db
    .updateTable('owned_objects')
    .set({ deleted_at: now, look_at: lookAt })
    .where((eb) => eb.and(keyOf(row)))
    .where('deleted_at', 'is', null)
    .execute();
}

/** Some that are due at `now`, those first that have been for longest. */
export function listDue(db: Db, now: number, limit: number): Promise<OwnedObject[]> {
  return db
    .selectFrom('owned_objects')
    .selectAll()
    .where('look_at', '<=', now)
    .orderBy('look_at')
    .limit(limit)
    .execute();
}

/** Of one organisation; yields how many there were, as due as they were when they were listed. */
export async function deleteAll(tx: Db, rows: readonly OwnedObject[]): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('owned_objects')
    .where('organisation_id', '=', rows[0]!.organisation_id)
    .where((eb) => eb.or(rows.map((row) => eb.and({ ...keyOf(row), look_at: row.look_at }))))
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Says when one is looked at again, unless somebody else has said so. */
export async function putOff(db: Db, row: OwnedObject, lookAt: number): Promise<void> {
  await db
    .updateTable('owned_objects')
    .set({ look_at: lookAt })
    .where((eb) => eb.and({ ...keyOf(row), look_at: row.look_at }))
    .execute();
}

function keyOf({ organisation_id, workspace_id, kind, object_id, provider }: OwnedObject) {
  return { organisation_id, workspace_id, kind, object_id, provider };
}
