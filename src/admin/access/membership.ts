/** Adds users to workspaces and removes them, together with their keys and audit rows. */
import type { WorkspaceRole } from '../../model/people/person.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredUser } from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { createKeyOfNewMember, deleteUserKeys } from './user-keys.ts';

export interface NewMembership {
  /** Locked until the transaction ends, like the user. */
  readonly workspace: StoredWorkspace;
  readonly user: StoredUser;
  readonly role: WorkspaceRole;
  readonly source: workspaceMembers.StoredMember['source'];
  /** Scopes of the key that an invite promised. */
  readonly scopes?: readonly string[] | undefined;
}

/** An existing member only gets the new role, and no second key. */
export async function addMember(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  { workspace, user, role, source, scopes }: NewMembership,
): Promise<void> {
  const { now } = author;
  const key = {
    organisation_id: workspace.organisation_id,
    workspace_id: workspace.id,
    user_id: user.id,
  };
  const row = { ...key, role, source, created_at: now, last_updated_at: now };
  const entry = {
    kind: 'WorkspaceMember',
    resourceId: user.id,
    workspaceId: workspace.id,
  } as const;
  if (!(await workspaceMembers.insertUnlessMember(tx, row))) {
    const before = await workspaceMembers.findForUpdate(tx, key);
    if (before?.role === role && before.source === source) return;
    await workspaceMembers.updateRole(tx, key, { role, source }, now);
    await auditChange(tx, deps, author, { action: 'update', ...entry, changes: { role } });
    return;
  }
  await auditChange(tx, deps, author, { action: 'create', ...entry, changes: { role } });
  await createKeyOfNewMember(tx, deps, author, { workspace, user, scopes });
}

/** Also deletes the user's keys in the workspace. */
export async function removeMember(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  key: workspaceMembers.MemberKey,
): Promise<void> {
  const { workspace_id: workspaceId, user_id: userId } = key;
  await deleteUserKeys(tx, deps, author, { userId, workspaceId });
  await workspaceMembers.deleteOne(tx, key);
  const entry = { kind: 'WorkspaceMember', resourceId: userId, workspaceId } as const;
  await auditChange(tx, deps, author, { action: 'delete', ...entry, changes: {} });
}
