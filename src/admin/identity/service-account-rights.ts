/** Checks that a service account never gives anybody more rights than they hold. */
import { findRoleGrants } from '../../auth/grants.ts';
import type { Principal } from '../../auth/principal.ts';
import { parseResource, serviceAccountPrincipal } from '../../model/people/access-policy.ts';
import { scopesBeyond, scopesOfRole, scopesOfRoles } from '../../model/people/scopes.ts';
import { roleFault, superuserRole } from '../../model/people/service-account.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as accessPolicies from '../../store/people/access-policies.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { isSuperuser } from '../access/superuser.ts';

const listedMax = 5;

/**
 * Refuses roles with scopes that the author does not hold.
 *
 * @throws ApiError `forbidden`
 */
export function requireRolesWithin(
  { scopes }: Pick<Principal, 'scopes'>,
  roles: readonly string[],
  param: string,
): void {
  for (const role of roles) {
    const beyond = scopesBeyond(scopes, scopesOfRole(role));
    if (beyond.length > 0) throw exceeds(`to grant the role ${role}`, beyond, param);
  }
}

/**
 * Refuses to grant the role superuser by anybody who does not hold it, even if other roles give every scope.
 *
 * @throws ApiError `forbidden`
 */
export async function requireSuperuserFor(
  db: Db,
  caller: Principal,
  role: string,
  param: string,
): Promise<void> {
  if (role !== superuserRole || (await isSuperuser(db, caller))) return;
  throw new ApiError('forbidden', `only a service account with the role ${role} grants it`, param);
}

/**
 * Checks the roles of a create or update; `current` are the present ones, which an update may repeat.
 *
 * @throws ApiError `invalid` for a role that cannot be assigned, `forbidden` for one beyond the author's
 */
export function requireAssignable(
  caller: Principal,
  roles: readonly string[],
  current: readonly string[],
): void {
  const added = roles.filter((role) => !current.includes(role));
  for (const role of added) {
    const message = roleFault(role);
    if (message !== undefined)
      throw validationError({ path: ['roles', roles.indexOf(role)], message });
  }
  requireRolesWithin(caller, added, 'roles');
}

/**
 * Refuses to hand out the secret of an account with a role that its receiver does not hold where the role
 * applies. The account may already have roles before it exists, because principals of access policies are
 * not checked for existence. An account may always receive its own secret.
 *
 * @throws ApiError `forbidden`
 */
export async function requireOwnReach(
  db: Db,
  caller: Principal,
  account: { readonly id: string | null; readonly name: string },
): Promise<void> {
  if (account.id === caller.id) return;
  const principal = serviceAccountPrincipal(account.name, caller.tsgId);
  for (const { resource, role } of await accessPolicies.listByPrincipal(db, principal)) {
    const place = parseResource(resource);
    if (place === null) continue;
    const isWithin =
      caller.workspaceId === null ||
      (place.tsgId === caller.tsgId && place.workspace === caller.workspaceId);
    const held = isWithin ? await scopesAt(db, caller, place.tsgId) : [];
    const beyond = scopesBeyond(held, scopesOfRole(role));
    if (beyond.length === 0) continue;
    const what = `to receive the secret of an account with the role ${role} on ${resource}`;
    throw exceeds(what, beyond, 'principal');
  }
}

/** Scopes of the caller in a TSG: its own below its tenant, elsewhere what its account holds there. */
async function scopesAt(db: Db, caller: Principal, tsgId: string): Promise<readonly string[]> {
  if (tsgId === caller.tsgId) return caller.scopes;
  const ancestors = await organisations.listAncestors(db, tsgId);
  if (ancestors.includes(caller.tsgId)) return caller.scopes;
  if (caller.kind !== 'service-account') return [];
  const own = await serviceAccounts.findById(db, caller.id);
  if (own === undefined) return [];
  const grants = await findRoleGrants(db, { name: own.name, tsgId: own.tsg_id }, tsgId);
  return scopesOfRoles(grants.roles);
}

function exceeds(what: string, beyond: readonly string[], param: string): ApiError {
  const more = beyond.length > listedMax ? `, and ${beyond.length - listedMax} more` : '';
  const listed = beyond.slice(0, listedMax).join(', ');
  return new ApiError('forbidden', `not enough permissions ${what}: ${listed}${more}`, param);
}
