/** Resolves the workspaces that a body grants something to. */
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as workspaces from '../../store/resources/workspaces.ts';

/**
 * Returns the grants with workspace ids and locks the workspaces until the transaction ends.
 *
 * @throws ApiError `invalid` for a workspace that does not exist or is named twice
 */
export async function resolveWorkspaceGrants<G extends { readonly id: string }>(
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
      throw validationError({ path, message: 'is not a workspace of the organisation' });
    }
    if (seen.has(workspaceId)) throw validationError({ path, message: 'is named twice' });
    seen.add(workspaceId);
    return { ...grant, workspaceId };
  });
}
