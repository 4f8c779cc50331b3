/** Knows whose a key may be: a person of the organisation, who is in its workspace, and while there is room. */

import { hasAccessEverywhere } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { hasRoomForUserKey } from '../access/user-keys.ts';

/**
 * Holds the person until the transaction ends. Where nobody but the owner was ever brought in, people
 * are managed elsewhere, and any id is taken for that of one of them.
 *
 * @throws ApiError `invalid` for somebody else, or who is not in the workspace.
 */
export async function requireUser(
  tx: Db,
  organisationId: string,
  workspace: StoredWorkspace | null,
  userId: string | null,
): Promise<void> {
  if (userId === null || !(await users.areManaged(tx, organisationId))) return;
  const user = await users.findByIdForShare(tx, organisationId, userId);
  if (user?.status !== 'active') refuse('names no active user of the organisation');
  if (workspace === null || hasAccessEverywhere(user)) return;
  const place = { organisation_id: organisationId, workspace_id: workspace.id };
  const member = await workspaceMembers.findForUpdate(tx, { ...place, user_id: userId });
  if (member === undefined) refuse('names nobody who is a member of the workspace');
}

function refuse(message: string): never {
  throw validationError({ path: ['user_id'], message });
}

/** @throws ApiError `conflict` when the workspace has as many keys of people as it may have. */
export async function requireRoom(
  tx: Db,
  workspace: StoredWorkspace | null,
  type: string,
): Promise<void> {
  if (workspace === null || type !== 'workspace-user') return;
  if (await hasRoomForUserKey(tx, workspace)) return;
  const message = 'The workspace has as many user keys as its setting user_api_keys_max allows';
  throw new ApiError('conflict', message, 'workspace_id');
}
