/** Knows which configs may be put before the requests of a key, or of a workspace. */
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as configs from '../../store/tables/configs.ts';

/** Who is to go by a config: a key, or all of a workspace; `workspaceId` null for the organisation. */
interface Pinning {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  /** The field that names the config. */
  readonly path: readonly string[];
}

/**
 * The UUID of the config that `reference` (UUID or slug) names: one of the same workspace or of the
 * organisation, and for the organisation any. It cannot be deleted until the transaction ends.
 *
 * @throws ApiError `invalid` for any other.
 */
export async function resolveConfig(
  tx: Db,
  { organisationId, workspaceId, path }: Pinning,
  reference: string,
): Promise<string> {
  const config = await configs.findByIdOrSlugForShare(tx, organisationId, reference);
  const reachable =
    config !== undefined &&
    config.status === 'active' &&
    (workspaceId === null || config.workspace_id === null || config.workspace_id === workspaceId);
  if (!reachable) throw validationError({ path, message: 'names no config that can be used here' });
  return config.id;
}
