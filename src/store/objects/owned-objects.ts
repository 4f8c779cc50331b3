/** Table functions for owned_objects: the owners of objects that providers store. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface OwnedObjectRow {
  organisation_id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  kind: string;
  /** The provider's id. */
  object_id: string;
  /** `@` and the id of a workspace's provider, or the name of a service. */
  provider: string;
  api_key_id: string;
  /** When the gateway recorded it; milliseconds since the epoch. */
  created_at: number;
  deleted_at: number | null;
  /** When the job checks whether the provider still has it, or deletes the row. */
  look_at: number;
  /** Scope in which an id is unique, whichever workspace uses it: an integration, or the workspace itself. */
  account: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    owned_objects: OwnedObjectRow;
  }
}

export type OwnedObject = OwnedObjectRow;

/** The owner of objects of one kind. */
interface KindOwner {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly kind: string;
}

const table = rows('owned_objects');

/** Rows in one statement. */
const rowsMax = 200;

/** Records objects. Existing rows stay as they are, and so does the first owner within an account. */
export async function insertAll(db: Db, many: readonly OwnedObject[]): Promise<void> {
  if (many.length === 1) return insert(db, { ...many[0]! });
  for (let at = 0; at < many.length; at += rowsMax) {
    const some = many.slice(at, at + rowsMax);
    await db.insertInto('owned_objects').ignore().values(some).execute();
  }
}

const insert = insertion((db, row: OwnedObject & Record<string, unknown>) =>
  db.insertInto('owned_objects').ignore().values(row),
);

/** Records an object; returns whether it was unknown. */
export async function noteFound(tx: Db, row: OwnedObject): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('owned_objects')
    .ignore()
    .values(row)
    .executeTakeFirstOrThrow();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

const byId = statement(
  (db, owner: { organisationId: string; workspaceId: string; kind: string; id: string }) =>
    db
      .selectFrom('owned_objects')
      .selectAll()
      .where('organisation_id', '=', owner.organisationId)
      .where('workspace_id', '=', owner.workspaceId)
      .where('kind', '=', owner.kind)
      .where('object_id', '=', owner.id)
      .where('deleted_at', 'is', null)
      .orderBy('created_at', 'desc')
      .limit(1),
);

/** The newest object when several providers have one with this id. */
export function find(db: Db, owner: KindOwner, id: string): Promise<OwnedObject | undefined> {
  const { organisationId, workspaceId, kind } = owner;
  return byId.first(db, { organisationId, workspaceId, kind, id });
}

const ofKind = ({ organisationId, workspaceId, kind }: KindOwner) => ({
  organisation_id: organisationId,
  workspace_id: workspaceId,
  kind,
  deleted_at: null,
});

/** The rows of those ids that are recorded. */
export function listKnown(
  db: Db,
  owner: KindOwner,
  ids: readonly string[],
): Promise<OwnedObject[]> {
  return table.list(db, { ...ofKind(owner), object_id: ids });
}

/** An object that bounds a page and is not part of it. */
export type ObjectAnchor = Pick<OwnedObject, 'created_at' | 'object_id'>;

/** Up to `limit` objects at one provider, ordered by creation time. */
export async function list(
  db: Db,
  owner: KindOwner & { readonly provider: string },
  page: {
    readonly limit: number;
    readonly order: 'asc' | 'desc';
    readonly after: ObjectAnchor | null;
    readonly before: ObjectAnchor | null;
  },
): Promise<OwnedObject[]> {
  const { limit, order, after, before } = page;
  return table
    .matching(db, { ...ofKind(owner), provider: owner.provider })
    .selectAll()
    .$if(after !== null, (all) => all.where(isBeyond(after!, order === 'asc' ? '>' : '<')))
    .$if(before !== null, (all) => all.where(isBeyond(before!, order === 'asc' ? '<' : '>')))
    .orderBy('created_at', order)
    .orderBy('object_id', order)
    .limit(limit)
    .execute();
}

function isBeyond({ created_at: at, object_id: id }: ObjectAnchor, side: '<' | '>') {
  const than = sql.raw(side);
  const isBeyondId: RawBuilder<SqlBool> = sql`created_at = ${at} and object_id ${than} ${id}`;
  return sql<SqlBool>`(created_at ${than} ${at} or (${isBeyondId}))`;
}

/** Marks an object that its provider no longer has; the row stays until `lookAt`. */
export async function markDeleted(
  db: Db,
  row: OwnedObject,
  { now, lookAt }: { readonly now: number; readonly lookAt: number },
): Promise<void> {
  const where = { ...keyOf(row), deleted_at: null };
  await table.update(db, where, { deleted_at: now, look_at: lookAt });
}

/** Rows of any organisation that are due at `now`, the longest due first. */
export function listDue(db: Db, now: number, limit: number): Promise<OwnedObject[]> {
  return table.listAnywhere(db, { look_at: atMost(now) }, { orderBy: ['look_at'], limit });
}

/** Deletes rows of one organisation whose `look_at` has not changed since they were read; returns their number. */
export async function deleteAll(tx: Db, many: readonly OwnedObject[]): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('owned_objects')
    .where('organisation_id', '=', many[0]!.organisation_id)
    .where((eb) => eb.or(many.map((row) => eb.and({ ...keyOf(row), look_at: row.look_at }))))
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Sets the time of the next check, unless another process has set it since the row was read. */
export async function putOff(db: Db, row: OwnedObject, lookAt: number): Promise<void> {
  await table.update(db, { ...keyOf(row), look_at: row.look_at }, { look_at: lookAt });
}

function keyOf({ organisation_id, workspace_id, kind, object_id, provider }: OwnedObject) {
  return { organisation_id, workspace_id, kind, object_id, provider };
}
