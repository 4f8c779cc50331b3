/** Resolves the config that a key or workspace pins. */
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as configs from '../../store/resources/configs.ts';

/** The resource that pins the config; `workspaceId` is null for the organisation. */
interface ConfigPin {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  /** Field that names the config. */
  readonly path: readonly string[];
}

/**
 * Returns the UUID of the config that `reference` (UUID or slug) names and locks it until the
 * transaction ends. It must belong to the same workspace or to the organisation; the organisation may use
 * any.
 *
 * @throws ApiError `invalid` for any other config
 */
export async function resolveConfig(
  tx: Db,
  { organisationId, workspaceId, path }: ConfigPin,
  reference: string,
): Promise<string> {
  const config = await configs.findByIdOrSlugForShare(tx, organisationId, reference);
  const reachable =
    config !== undefined &&
    config.status === 'active' &&
    (workspaceId === null || config.workspace_id === null || config.workspace_id === workspaceId);
  if (!reachable) throw validationError({ path, message: 'is not a config that can be used here' });
  return config.id;
}
