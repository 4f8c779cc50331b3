/** Adds members to a workspace, changes their roles and removes them. */

import type { MembersAdd, Membership, MemberUpdate } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { requireGrantableRole } from '../access/grantable.ts';
import { addMember, removeMember } from '../access/membership.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type { BodyRequest, QueryRequest } from '../request/frame-fields.ts';
import { findOr404, idOr404 } from '../request/scoping.ts';
import { requireVersion } from '../request/version.ts';

type Caller = AdminRequest['caller'];

/**
 * The workspace named by the path; a bound credential finds only its own.
 *
 * @throws ApiError `notFound`
 */
export async function findWorkspace(
  db: Db,
  caller: Caller,
  reference: string,
  find: typeof workspaces.findByIdOrSlug,
): Promise<workspaces.StoredWorkspace> {
  const row = await find(db, caller.organisationId, reference);
  return findOr404(caller, row && { ...row, workspace_id: row.id });
}

/** Returns `{}`. An existing member only gets the new role. */
export async function addWorkspaceMembers(
  deps: AdminDeps,
  request: BodyRequest<MembersAdd>,
): Promise<Record<string, never>> {
  const { caller, params, body } = request;
  await deps.database.transaction(async (tx) => {
    const workspace = await findWorkspace(
      tx,
      caller,
      params.id!,
      workspaces.findByIdOrSlugForShare,
    );
    await addListedMembers(tx, deps, request, workspace, body.users);
  });
  return {};
}

/** @throws ApiError `invalid` for somebody who is no user of the organisation or is named twice */
export async function addListedMembers(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  workspace: workspaces.StoredWorkspace,
  members: readonly Membership[],
): Promise<void> {
  rejectFaults(repeated(members));
  for (const [at, { role }] of members.entries()) {
    requireGrantableRole(author.caller, 'workspace', role, ['users', at, 'role']);
  }
  const faults: Fault[] = [];
  const usersById = new Map<string, users.StoredUser>();
  // Locked in the order of ids, so that concurrent requests for the same users cannot deadlock.
  for (const { id } of members.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const user = await users.findByIdForShare(tx, workspace.organisation_id, id);
    if (user !== undefined) usersById.set(id, user);
  }
  for (const [at, { id }] of members.entries()) {
    if (usersById.has(id)) continue;
    faults.push({ path: ['users', at, 'id'], message: 'is not a user of the organisation' });
  }
  rejectFaults(faults);
  for (const { id, role } of members) {
    await addMember(tx, deps, author, {
      workspace,
      user: usersById.get(id)!,
      role,
      source: 'manual',
    });
  }
}

function repeated(members: readonly Membership[]): Fault[] {
  const seen = new Set<string>();
  return members.flatMap(({ id }, at) => {
    if (seen.has(id)) return [{ path: ['users', at, 'id'], message: 'is named twice' }];
    seen.add(id);
    return [];
  });
}

/** Returns `{}`. */
export async function updateWorkspaceMember(
  deps: AdminDeps,
  request: BodyRequest<MemberUpdate>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  requireGrantableRole(caller, 'workspace', body.role);
  await deps.database.transaction(async (tx) => {
    const member = await lockMember(tx, request);
    const next = { role: body.role, source: 'manual' } as const;
    if (member.role === next.role && member.source === next.source) return;
    await workspaceMembers.updateRole(tx, member, next, now);
    await auditChange(tx, deps, request, {
      action: 'update',
      kind: 'WorkspaceMember',
      resourceId: member.user_id,
      workspaceId: member.workspace_id,
      changes: { role: body.role },
    });
  });
  return {};
}

/** Returns `{}`. Also deletes the user's keys in the workspace. */
export async function deleteWorkspaceMember(
  deps: AdminDeps,
  request: QueryRequest<undefined>,
): Promise<Record<string, never>> {
  await deps.database.transaction(async (tx) => {
    await removeMember(tx, deps, request, await lockMember(tx, request));
  });
  return {};
}

/** @throws ApiError `notFound`; `stale` when `If-Match` names another version */
async function lockMember(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'params' | 'ifMatch'>,
): Promise<workspaceMembers.StoredMember> {
  const { caller, params } = request;
  const { findByIdOrSlugForShare } = workspaces;
  const workspace = await findWorkspace(tx, caller, params.id!, findByIdOrSlugForShare);
  const { organisation_id, id: workspace_id } = workspace;
  const user_id = idOr404(params.userId!);
  // The user is locked first, in the same order as when a user is deleted.
  await users.findByIdForUpdate(tx, organisation_id, user_id);
  const member = await workspaceMembers.findForUpdate(tx, {
    organisation_id,
    workspace_id,
    user_id,
  });
  if (member === undefined) throw new ApiError('notFound');
  requireVersion(request, member.version);
  return member;
}
