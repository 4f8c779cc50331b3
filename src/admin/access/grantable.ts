/** Checks that nobody grants scopes or roles that exceed their own. */
import type { Principal } from '../../auth/principal.ts';
import type { OrganisationRole, WorkspaceRole } from '../../model/people/person.ts';
import {
  allScopes,
  isKnownScope,
  scopesBeyond,
  scopesOfMember,
} from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';

/**
 * Refuses unknown scopes and scopes that the author does not hold. `current` are the present ones, which
 * an update may repeat; `path` is the position of the list in the body.
 *
 * @throws ApiError `invalid` or `forbidden`
 */
export function requireGrantable(
  caller: Principal,
  scopes: readonly string[],
  current: readonly string[],
  path: readonly string[] = ['scopes'],
): void {
  const unknown = scopes.findIndex((scope) => !isKnownScope(scope));
  if (unknown >= 0) {
    throw validationError({ path: [...path, unknown], message: 'is not a scope' });
  }
  const added = scopes.filter((scope) => !current.includes(scope));
  const beyond = scopesBeyond(caller.scopes, added);
  if (beyond.length === 0) return;
  const message = `not enough permissions to grant ${beyond.join(', ')}`;
  throw new ApiError('forbidden', message, path.join('.'));
}

const listedMax = 5;

/**
 * Refuses to make somebody an organisation administrator, or a workspace administrator or manager, if
 * that role exceeds the author's scopes. Adding plain members needs only the scope to add people.
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
  const more = beyond.length > listedMax ? `, and ${beyond.length - listedMax} more` : '';
  const listed = beyond.slice(0, listedMax).join(', ');
  const message = `not enough permissions to make somebody ${role} of the ${of}: ${listed}${more}`;
  throw new ApiError('forbidden', message, path.join('.'));
}
