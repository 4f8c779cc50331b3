/** Derives workspace memberships and roles from the groups of a directory. */
import { highestRole } from '../../model/people/scim-mapping.ts';
import type { Db } from '../../store/connection/db.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { addMember, removeMember } from '../access/membership.ts';
import type { Author } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

/**
 * Adjusts a membership to the groups that the user is in now. Manually created memberships stay. Call it
 * for every affected user after a change of groups or mappings.
 */
export async function settleMembership(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  userId: string,
  workspaceId: string,
): Promise<void> {
  const { organisationId } = author.caller;
  const user = await users.findByIdForShare(tx, organisationId, userId);
  const workspace = await workspaces.findByIdOrSlugForShare(tx, organisationId, workspaceId);
  if (user === undefined || workspace === undefined) return;
  const key = {
    organisation_id: organisationId,
    workspace_id: workspaceId,
    user_id: userId,
  };
  const member = await workspaceMembers.findForUpdate(tx, key);
  if (member?.source === 'manual') return;
  const roles = await scimMappings.listRoles(tx, organisationId, userId, workspaceId);
  const role = user.status === 'active' ? highestRole(roles) : undefined;
  if (role !== undefined) {
    await addMember(tx, deps, author, { workspace, user, role, source: 'scim' });
  } else if (member !== undefined) {
    await removeMember(tx, deps, author, key);
  }
}
