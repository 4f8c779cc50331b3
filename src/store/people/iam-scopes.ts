/** Knows the iam_scopes table: named sets of resources of the access service. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { Versioned } from '../rows/versioned.ts';

interface IamScopeRow extends Versioned {
  organisation_id: string;
  name: string;
  description: string;
  /** JSON list. */
  resources: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    iam_scopes: IamScopeRow;
  }
}

export type StoredIamScope = Selectable<IamScopeRow>;

/** Throws errno 1062 when the organisation has one of this name. */
export async function insert(tx: Db, row: Insertable<IamScopeRow>): Promise<void> {
  await tx.insertInto('iam_scopes').values(row).execute();
}

/** In the order of their names. */
export function list(db: Db, organisationId: string): Promise<StoredIamScope[]> {
  return db
    .selectFrom('iam_scopes')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('name')
    .execute();
}

export function find(
  db: Db,
  organisationId: string,
  name: string,
): Promise<StoredIamScope | undefined> {
  return one(db, organisationId, name).executeTakeFirst();
}

export function findForUpdate(
  tx: Db,
  organisationId: string,
  name: string,
): Promise<StoredIamScope | undefined> {
  return one(tx, organisationId, name).forUpdate().executeTakeFirst();
}

function one(db: Db, organisationId: string, name: string) {
  return db
    .selectFrom('iam_scopes')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('name', '=', name);
}

/** Counts the write. */
export async function update(
  tx: Db,
  { organisation_id, name }: Pick<StoredIamScope, 'organisation_id' | 'name'>,
  columns: Pick<StoredIamScope, 'description' | 'resources' | 'last_updated_at'>,
): Promise<void> {
  await tx
    .updateTable('iam_scopes')
    .set({ ...columns, version: sql`version + 1` })
    .where('organisation_id', '=', organisation_id)
    .where('name', '=', name)
    .execute();
}

export async function deleteOne(
  tx: Db,
  { organisation_id, name }: Pick<StoredIamScope, 'organisation_id' | 'name'>,
): Promise<void> {
  await tx
    .deleteFrom('iam_scopes')
    .where('organisation_id', '=', organisation_id)
    .where('name', '=', name)
    .execute();
}
