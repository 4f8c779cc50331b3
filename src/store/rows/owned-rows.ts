/** The owner of stored objects (assistants, threads, responses, files, vector stores) and lookups restricted to it. */
import type { Db } from '../connection/db.ts';

/** The workspace that created an object. */
export interface ObjectOwner {
  readonly organisationId: string;
  /** '' for a key of the organisation. */
  readonly workspaceId: string;
}

/** The owner as column values, for a predicate. */
export function ownedBy({ organisationId, workspaceId }: ObjectOwner) {
  return { organisation_id: organisationId, workspace_id: workspaceId };
}

/** Omits ids that do not exist or belong to another owner. */
export async function listOwnIds(
  db: Db,
  table: 'assistants' | 'threads' | 'responses' | 'conversations',
  owner: ObjectOwner,
  ids: readonly string[],
): Promise<string[]> {
  const { organisation_id, workspace_id } = ownedBy(owner);
  const found = await db
    .selectFrom(table)
    .select('id')
    .where('organisation_id', '=', organisation_id)
    .where('id', 'in', ids)
    .where('workspace_id', '=', workspace_id)
    .execute();
  return found.map(({ id }) => id);
}
