/** Creates, updates and deletes users of a directory and adjusts what follows from it. */

import type { Principal } from '../../auth/principal.ts';
import { emailKey } from '../../model/people/person.ts';
import type { ScimUserState } from '../../model/people/scim.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import * as signInLinks from '../../store/people/sign-in-links.ts';
import * as userInvites from '../../store/people/user-invites.ts';
import * as userSessions from '../../store/people/user-sessions.ts';
import * as users from '../../store/people/users.ts';
import { requireAuthorityOver, requireOwnerForOwner } from '../access/people-authority.ts';
import { deleteUserKeys } from '../access/user-keys.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireVersion } from '../request/version.ts';
import { acceptInvite } from './invite-acceptance.ts';
import { settleMembership } from './scim-membership.ts';
import { deleteUser, lockUser, refuseOwner } from './user-changes.ts';

type Request = Pick<AdminRequest, 'params' | 'ifMatch'> & Author;

/** An invited user gets the role and the workspaces of the invite. */
export async function createScimUser(
  deps: AdminDeps,
  request: Request,
  state: ScimUserState,
): Promise<users.StoredUser> {
  const { caller, now } = request;
  requireWholeOrganisation(caller);
  const { organisationId } = caller;
  return deps.database.transaction(async (tx) => {
    const key = emailKey(state.userName);
    const invite = await userInvites.findOpenForUpdate(tx, organisationId, key, now);
    const row: users.StoredUser = {
      id: newId(),
      organisation_id: organisationId,
      ...columnsOf(state),
      role: invite?.role ?? 'member',
      source: 'scim' as const,
      version: 1,
      created_at: now,
      last_updated_at: now,
    };
    await requireUniqueAddress(users.insert(tx, row));
    await auditChange(tx, deps, request, {
      action: 'create',
      kind: 'User',
      resourceId: row.id,
      workspaceId: null,
      changes: {},
    });
    if (invite !== undefined) await acceptInvite(tx, deps, request, invite, row);
    return row;
  });
}

/** Returns the user after the change; `change` computes the new state from the current one. */
export async function changeScimUser(
  deps: AdminDeps,
  request: Request,
  next: (before: users.StoredUser) => ScimUserState,
): Promise<users.StoredUser> {
  const { caller, params, now } = request;
  requireWholeOrganisation(caller);
  return deps.database.transaction(async (tx) => {
    const id = idOr404(params.id!);
    const row = await users.findByIdForUpdate(tx, caller.organisationId, id);
    if (row === undefined) throw new ApiError('notFound');
    requireVersion(request, row.version);
    const columns = columnsOf(next(row));
    const names = Object.keys(columns) as (keyof typeof columns)[];
    const fields = names.filter((name) => columns[name] !== row[name]);
    if (fields.length === 0) return row;
    if (row.role === 'owner' && columns.status !== 'active') refuseOwner();
    await requireAuthorityOfChange(tx, caller, row, columns);
    await requireUniqueAddress(users.update(tx, row, { ...columns, last_updated_at: now }));
    await auditChange(tx, deps, request, {
      action: 'update',
      kind: 'User',
      resourceId: row.id,
      workspaceId: null,
      changes: { fields },
    });
    if (columns.status !== row.status) await settleUser(tx, deps, request, row.id, columns.status);
    return { ...row, ...columns, version: row.version + 1, last_updated_at: now };
  });
}

export async function deleteScimUser(deps: AdminDeps, request: Request): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await deleteUser(tx, deps, request, await lockUser(tx, request));
  });
}

/**
 * A new address and a reactivation pass on the rights of the user. A deactivation only takes them, and
 * names have no effect.
 *
 * @throws ApiError `forbidden`
 */
async function requireAuthorityOfChange(
  tx: Db,
  caller: Principal,
  row: users.StoredUser,
  columns: ReturnType<typeof columnsOf>,
): Promise<void> {
  const isNewAddress = columns.email !== row.email;
  if (isNewAddress || columns.external_id !== row.external_id) requireOwnerForOwner(caller, row);
  const isReactivated = columns.status === 'active' && row.status !== 'active';
  if (isNewAddress || isReactivated) await requireAuthorityOver(tx, caller, row);
}

/** Deletes keys, sessions and group memberships of a user who is no longer active. */
async function settleUser(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  userId: string,
  status: users.StoredUser['status'],
): Promise<void> {
  const { organisationId } = author.caller;
  if (status !== 'active') {
    await deleteUserKeys(tx, deps, author, { userId });
    await userSessions.deleteMany(tx, organisationId, { userId });
    await signInLinks.deleteByUser(tx, organisationId, userId);
  }
  const groups = await scimGroups.listMembers(tx, organisationId, { userId });
  for (const { group_id } of groups) {
    const mappings = await scimMappings.listByGroup(tx, organisationId, group_id);
    for (const { workspace_id } of mappings)
      await settleMembership(tx, deps, author, userId, workspace_id);
  }
}

function columnsOf(state: ScimUserState) {
  return {
    email: state.userName,
    email_key: emailKey(state.userName),
    first_name: state.givenName,
    last_name: state.familyName,
    status: state.active ? ('active' as const) : ('inactive' as const),
    external_id: state.externalId,
  };
}

function requireUniqueAddress(writing: Promise<unknown>): Promise<unknown> {
  return requireUnique(writing, 'The organisation has a user with this address', 'userName');
}
