/** Knows how somebody comes into a workspace and out of it, with the keys and audit rows that go along. */
import type { WorkspaceRole } from '../../model/person.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredUser } from '../../store/tables/users.ts';
import * as workspaceMembers from '../../store/tables/workspace-members.ts';
import type { StoredWorkspace } from '../../store/tables/workspaces.ts';
import { type Author, auditChange } from './change.ts';
import type { AdminDeps } from './deps.ts';
import { deleteUserKeys, makeKeyOfNewMember } from './user-keys.ts';

export interface Joining {
  /** Held until the transaction ends, as is the user. */
  readonly workspace: StoredWorkspace;
  readonly user: StoredUser;
  readonly role: WorkspaceRole;
  readonly source: workspaceMembers.StoredMember['source'];
  /** Of the key that an invite promised. */
  readonly scopes?: readonly string[] | undefined;
}

/** Who is in the workspace already has the role from now on, and no second key. */
export async function admitMember(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  { workspace, user, role, source, scopes }: Joining,
): Promise<void> {
  const { now } = author;
  const key = {
    ...{ organisation_id: workspace.organisation_id },
    ...{ workspace_id: workspace.id, user_id: user.id },
  };
  const row = { ...key, role, source, created_at: now, last_updated_at: now };
  const told = { kind: 'WorkspaceMember', resourceId: user.id, workspaceId: workspace.id } as const;
  if (!(await workspaceMembers.insertUnlessMember(tx, row))) {
    const before = await workspaceMembers.findForUpdate(tx, key);
    if (before?.role === role && before.source === source) return;
    await workspaceMembers.updateRole(tx, key, { role, source }, now);
    await auditChange(tx, deps, author, { action: 'update', ...told, changes: { role } });
    return;
  }
  await auditChange(tx, deps, author, { action: 'create', ...told, changes: { role } });
  await makeKeyOfNewMember(tx, deps, author, { workspace, user, scopes });
}

/** Takes the keys along that the user has in the workspace. */
export async function dismissMember(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  key: workspaceMembers.MemberKey,
): Promise<void> {
  const { workspace_id: workspaceId, user_id: userId } = key;
  await deleteUserKeys(tx, deps, author, { userId, workspaceId });
  await workspaceMembers.deleteOne(tx, key);
  const told = { kind: 'WorkspaceMember', resourceId: userId, workspaceId } as const;
  await auditChange(tx, deps, author, { action: 'delete', ...told, changes: {} });
}
