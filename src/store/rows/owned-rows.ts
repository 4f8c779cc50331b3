/** Knows how rows of one owner are told from those of others, in the tables of what callers keep. */
import type { Db, Tables } from '../connection/db.ts';

/** Whose. */
export interface OwnerPlace {
  readonly organisationId: string;
  /** '' for a key of the organisation. */
  readonly workspaceId: string;
}

type OwnedTable = 'assistants' | 'threads' | 'responses';

/** Those of the ids that are there. */
export async function listOwnIds(
  db: Db,
  table: OwnedTable,
  { organisationId, workspaceId }: OwnerPlace,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom(table)
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .where('workspace_id', '=', workspaceId)
    .execute();
  return rows.map(({ id }) => id);
}

/** One of them. */
export async function findOwn<Table extends 'assistants' | 'threads'>(
  db: Db,
  table: Table,
  { organisationId, workspaceId }: OwnerPlace,
  id: string,
): Promise<Tables[Table] | undefined> {
  const row = await db
    .selectFrom<'assistants' | 'threads'>(table)
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return row as Tables[Table] | undefined;
}
