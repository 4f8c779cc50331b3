/** Knows that nobody comes by an API key to more than they may do themselves: by its scopes, and by what their workspace withholds from them. */
import { isGrantedTo, roleOf } from '../../auth/person-rights.ts';
import type { Principal } from '../../auth/principal.ts';
import { scopesBeyond } from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { rightsOfScope } from '../../model/workspaces/security-settings.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as workspaces from '../../store/resources/workspaces.ts';

type KeyOf = Pick<apiKeys.StoredApiKey, 'type' | 'user_id' | 'organisation_id' | 'workspace_id'>;

/**
 * Refuses people scopes for a key that is not their own, where their workspace does not let people of
 * their role do what these allow: nothing holds a service key back, and somebody else's by another role.
 *
 * @throws ApiError `forbidden`
 */
export async function requireOwnRights(
  tx: Db,
  caller: Principal,
  key: KeyOf,
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
      // Of all workspaces people see what their own keys did.
      const isNobodys = place === null && right === 'ViewAllData';
      return isNobodys || !isGrantedTo(place, role, right);
    }),
  );
  if (beyond.length === 0) return;
  const message = `the workspace does not allow people of your role what a key with ${beyond.join(', ')} may do`;
  throw new ApiError('forbidden', message, 'scopes');
}

/**
 * Whoever is told the new value holds what the key holds: nobody is who may not do as much already,
 * save the key itself and the person whose it is.
 *
 * @throws ApiError `forbidden`
 */
export async function requireNoGain(
  tx: Db,
  caller: Principal,
  row: apiKeys.StoredApiKey,
): Promise<void> {
  const owner = apiKeys.personOf(row);
  if (row.id === caller.id || (owner !== null && owner === caller.person?.userId)) return;
  const scopes = JSON.parse(row.scopes) as string[];
  const beyond = scopesBeyond(caller.scopes, scopes);
  if (beyond.length > 0) {
    const message = `not enough permissions to be told the value of a key with ${beyond.join(', ')}`;
    throw new ApiError('forbidden', message);
  }
  await requireOwnRights(tx, caller, row, scopes);
}
