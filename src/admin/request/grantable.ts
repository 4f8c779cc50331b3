/** Knows which scopes and roles somebody may hand on: those that exist, and let nobody do more than they may. */
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../model/errors.ts';
import type { OrganisationRole, WorkspaceRole } from '../../model/person.ts';
import { allScopes, isKnownScope, scopesBeyond, scopesOfMember } from '../../model/scopes.ts';
import { validationError } from '../../model/validation-error.ts';

/**
 * Refuses scopes that do not exist and those the author does not hold. `kept` are the present ones,
 * which an update may repeat; `path` is where the list stands in the body.
 *
 * @throws ApiError `invalid` or `forbidden`.
 */
export function requireGrantable(
  caller: Principal,
  scopes: readonly string[],
  kept: readonly string[],
  path: readonly string[] = ['scopes'],
): void {
  const unknown = scopes.findIndex((scope) => !isKnownScope(scope));
  if (unknown >= 0) {
    throw validationError({ path: [...path, unknown], message: 'is not a scope' });
  }
  const added = scopes.filter((scope) => !kept.includes(scope));
  const beyond = scopesBeyond(caller.scopes, added);
  if (beyond.length === 0) return;
  const message = `not enough permissions to grant ${beyond.join(', ')}`;
  throw new ApiError('forbidden', message, path.join('.'));
}

const shownMax = 5;

/**
 * Refuses to make somebody an administrator of the organisation, or one who acts for others in a
 * workspace, where that role may do what the author may not. A plain member is what the scope to add
 * people is for.
 *
 * @throws ApiError `forbidden`
 */
export function requireGrantableRole(
  { scopes }: Pick<Principal, 'scopes'>,
  of: 'organisation' | 'workspace',
  role: OrganisationRole | WorkspaceRole,
  path: readonly (string | number)[] = ['role'],
): void {
  if (role === 'member') return;
  const isEverywhere = of === 'organisation' || role === 'owner';
  const held = isEverywhere ? allScopes : scopesOfMember(role);
  const beyond = scopesBeyond(scopes, held);
  if (beyond.length === 0) return;
  const more = beyond.length > shownMax ? `, and ${beyond.length - shownMax} more` : '';
  const shown = beyond.slice(0, shownMax).join(', ');
  const message = `not enough permissions to make somebody ${role} of the ${of}: ${shown}${more}`;
  throw new ApiError('forbidden', message, path.join('.'));
}
