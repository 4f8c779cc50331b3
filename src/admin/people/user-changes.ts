/** Locks users for a change and deletes users with everything that belongs to them. */
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpAuthorizations from '../../store/mcp/mcp-authorizations.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpServerUsers from '../../store/mcp/mcp-server-users.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import * as signInLinks from '../../store/people/sign-in-links.ts';
import * as userIdentities from '../../store/people/user-identities.ts';
import * as userSessions from '../../store/people/user-sessions.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import { removeMember } from '../access/membership.ts';
import { deleteUserKeys } from '../access/user-keys.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireVersion } from '../request/version.ts';

/**
 * Finds the user named by the path and locks it until the transaction ends.
 *
 * @throws ApiError `notFound`, `stale`; `conflict` for the owner, whom every organisation needs
 */
export async function lockUser(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'params' | 'ifMatch'>,
): Promise<users.StoredUser> {
  const { caller, params } = request;
  requireWholeOrganisation(caller);
  const row = await users.findByIdForUpdate(tx, caller.organisationId, idOr404(params.id!));
  if (row === undefined) throw new ApiError('notFound');
  requireVersion(request, row.version);
  if (row.role === 'owner') refuseOwner();
  return row;
}

export function refuseOwner(): never {
  throw new ApiError('conflict', 'The owner of the organisation cannot be changed', 'id');
}

/** Also deletes memberships, keys, sessions and settings on MCP servers. */
export async function deleteUser(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  { organisation_id, id }: users.StoredUser,
): Promise<void> {
  // Includes workspaces in which an administrator is no member.
  await deleteUserKeys(tx, deps, author, { userId: id });
  const workspaceIds = await workspaceMembers.listWorkspaceIds(tx, organisation_id, [id]);
  for (const workspace_id of workspaceIds.get(id) ?? []) {
    await removeMember(tx, deps, author, { organisation_id, workspace_id, user_id: id });
  }
  await scimGroups.deleteMembershipsOf(tx, organisation_id, id);
  await mcpServerUsers.deleteByUser(tx, organisation_id, id);
  await deps.mcpTokens.noteDeletion(tx, { organisation_id, user_id: id });
  await mcpConnections.deleteByUser(tx, organisation_id, id);
  await mcpAuthorizations.deleteByUser(tx, organisation_id, id);
  await userSessions.deleteMany(tx, organisation_id, { userId: id });
  await signInLinks.deleteByUser(tx, organisation_id, id);
  await userIdentities.deleteOfUser(tx, organisation_id, id);
  await users.deleteById(tx, organisation_id, id);
  await auditChange(tx, deps, author, {
    action: 'delete',
    kind: 'User',
    resourceId: id,
    workspaceId: null,
    changes: {},
  });
}
