/** Checks that an API key grants nobody more than their own scopes and their workspace's settings allow. */
import { isGrantedTo, roleOf } from '../../auth/person-rights.ts';
import type { Principal } from '../../auth/principal.ts';
import { scopesBeyond } from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { rightsOfScope } from '../../model/workspaces/security-settings.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as workspaces from '../../store/resources/workspaces.ts';

type KeyOwner = Pick<apiKeys.StoredApiKey, 'type' | 'user_id' | 'organisation_id' | 'workspace_id'>;

/**
 * Refuses scopes for a key that is not the user's own if the workspace withholds their rights from the
 * user's role. Workspace settings do not restrict service keys, and another user's key follows that user's
 * role.
 *
 * @throws ApiError `forbidden`
 */
export async function requireOwnRights(
  tx: Db,
  caller: Principal,
  key: KeyOwner,
  scopes: readonly string[],
): Promise<void> {
  const { person } = caller;
  if (person === null || apiKeys.personOf(key) === person.userId) return;
  const { organisation_id: organisationId, workspace_id: workspaceId } = key;
  const place =
    workspaceId === null
      ? null
      : ((await workspaces.findByIdOrSlug(tx, organisationId, workspaceId)) ?? null);
  const role = await roleOf(tx, { organisationId, userId: person.userId }, place);
  if (role === 'admin') return;
  const beyond = scopes.filter((scope) =>
    rightsOfScope(scope).some((right) => {
      // Across all workspaces, users see only the requests of their own keys.
      const isOrganisationWide = place === null && right === 'ViewAllData';
      return isOrganisationWide || !isGrantedTo(place, role, right);
    }),
  );
  if (beyond.length === 0) return;
  const message = `the workspace does not allow your role to use ${beyond.join(', ')}`;
  throw new ApiError('forbidden', message, 'scopes');
}

/**
 * Refuses to show the key's value to a caller with fewer permissions than the key, because the value
 * grants them. Exempt are the key itself and the user who owns it.
 *
 * @throws ApiError `forbidden`
 */
export async function requireNoEscalation(
  tx: Db,
  caller: Principal,
  row: apiKeys.StoredApiKey,
): Promise<void> {
  const owner = apiKeys.personOf(row);
  if (row.id === caller.id || (owner !== null && owner === caller.person?.userId)) return;
  const scopes = JSON.parse(row.scopes) as string[];
  const beyond = scopesBeyond(caller.scopes, scopes);
  if (beyond.length > 0) {
    const message = `not enough permissions to receive the value of a key with ${beyond.join(', ')}`;
    throw new ApiError('forbidden', message);
  }
  await requireOwnRights(tx, caller, row, scopes);
}
