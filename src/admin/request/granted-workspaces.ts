/** Knows how the workspaces are found that a body says something of. */
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as workspaces from '../../store/tables/workspaces.ts';

/**
 * The grants with their workspaces, which stay until the transaction ends.
 *
 * @throws ApiError `invalid` for a workspace that is not there, or is named twice.
 */
export async function findGrants<G extends { readonly id: string }>(
  tx: Db,
  organisationId: string,
  sent: readonly G[],
): Promise<(Omit<G, 'id'> & { readonly workspaceId: string })[]> {
  const references = sent.map(({ id }) => id);
  const rows = await workspaces.listByReferencesForShare(tx, organisationId, references);
  const idOf = new Map(rows.flatMap((row) => [[row.id, row.id] as const, [row.slug, row.id]]));
  const seen = new Set<string>();
  return sent.map(({ id: reference, ...grant }, at) => {
    const workspaceId = idOf.get(reference) ?? idOf.get(reference.toLowerCase());
    const path = ['workspaces', at, 'id'];
    if (workspaceId === undefined) {
      throw validationError({ path, message: 'names no workspace of the organisation' });
    }
    if (seen.has(workspaceId)) throw validationError({ path, message: 'is named twice' });
    seen.add(workspaceId);
    return { ...grant, workspaceId };
  });
}
