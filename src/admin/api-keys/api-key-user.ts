/** Checks the user of a user key: active, a member of the workspace, and within the limit of user keys. */

import { hasAccessEverywhere } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { hasRoomForUserKey } from '../access/user-keys.ts';

/**
 * Locks the user until the transaction ends. While the organisation has no user but its owner, users are
 * managed outside gatewright and every id is accepted.
 *
 * @throws ApiError `invalid` for an unknown or inactive user, or one who is not in the workspace
 */
export async function requireUser(
  tx: Db,
  organisationId: string,
  workspace: StoredWorkspace | null,
  userId: string | null,
): Promise<void> {
  if (userId === null || !(await users.areManaged(tx, organisationId))) return;
  const user = await users.findByIdForShare(tx, organisationId, userId);
  if (user?.status !== 'active') refuse('is not an active user of the organisation');
  if (workspace === null || hasAccessEverywhere(user)) return;
  const place = { organisation_id: organisationId, workspace_id: workspace.id };
  const member = await workspaceMembers.findForUpdate(tx, { ...place, user_id: userId });
  if (member === undefined) refuse('is not a member of the workspace');
}

function refuse(message: string): never {
  throw validationError({ path: ['user_id'], message });
}

/** @throws ApiError `conflict` when the workspace has reached its limit of user keys */
export async function requireUserKeyCapacity(
  tx: Db,
  workspace: StoredWorkspace | null,
  type: string,
): Promise<void> {
  if (workspace === null || type !== 'workspace-user') return;
  if (await hasRoomForUserKey(tx, workspace)) return;
  const message = 'The workspace has as many user keys as its setting user_api_keys_max allows';
  throw new ApiError('conflict', message, 'workspace_id');
}
