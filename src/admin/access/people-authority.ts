/** Checks that nobody changes people, or the groups they are in, beyond the author's own scopes. */
import type { Principal } from '../../auth/principal.ts';
import type { WorkspaceRole } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import type { StoredUser } from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import { requireGrantableRole } from './grantable.ts';
import { isSuperuser } from './superuser.ts';

/**
 * The identity and the state of a user carry the user's rights: another address or a new sign-in passes
 * them on. So they are changed only by an author who could grant each role that the user has, or regains
 * through groups when the user is active again.
 *
 * @throws ApiError `forbidden`
 */
export async function requireAuthorityOver(
  tx: Db,
  caller: Principal,
  { organisation_id, id, role }: Pick<StoredUser, 'organisation_id' | 'id' | 'role'>,
): Promise<void> {
  requireGrantableRole(caller, 'organisation', role, ['id']);
  const memberships = await workspaceMembers.listRoles(tx, organisation_id, id);
  const mapped = await scimMappings.listRolesOfUser(tx, organisation_id, id);
  requireGrantableRoles(caller, [...memberships.values(), ...mapped], ['id']);
}

/** @throws ApiError `forbidden` when a user other than the owner changes the owner's identity */
export function requireOwnerForOwner(
  caller: Principal,
  { id, role }: Pick<StoredUser, 'id' | 'role'>,
): void {
  if (role !== 'owner' || caller.person?.userId === id) return;
  const message =
    "Only the owner can change the owner's identity; use a session or key of the owner";
  throw new ApiError('forbidden', message, 'id');
}

/**
 * A link that signs in as the owner is created by the owner or by a superuser, which is an account of the
 * operator: administrators and accounts with other roles have the owner's scopes, but not its identity.
 *
 * @throws ApiError `forbidden`
 */
export async function requireOwnerOrSuperuser(
  db: Db,
  caller: Principal,
  user: Pick<StoredUser, 'id' | 'role'>,
): Promise<void> {
  if (user.role === 'owner' && (await isSuperuser(db, caller))) return;
  requireOwnerForOwner(caller, user);
}

/** @throws ApiError `forbidden` unless the author could grant each of these roles in a workspace */
export function requireGrantableRoles(
  caller: Principal,
  roles: Iterable<WorkspaceRole>,
  path: readonly string[],
): void {
  for (const role of new Set(roles)) requireGrantableRole(caller, 'workspace', role, path);
}
