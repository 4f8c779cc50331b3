/** Creates, updates and deletes groups of a directory and adjusts the workspace memberships that follow. */

import type { ScimGroupState } from '../../model/people/scim.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import * as users from '../../store/people/users.ts';
import { requireGrantableRoles } from '../access/people-authority.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireVersion } from '../request/version.ts';
import { settleMembership } from './scim-membership.ts';

type Request = Pick<AdminRequest, 'params' | 'ifMatch'> & Author;

export interface GroupWithMembers {
  readonly row: scimGroups.StoredScimGroup;
  /** Ids of users. */
  readonly members: readonly string[];
}

export async function createScimGroup(
  deps: AdminDeps,
  request: Request,
  state: ScimGroupState,
): Promise<GroupWithMembers> {
  const { caller, now } = request;
  requireWholeOrganisation(caller);
  return deps.database.transaction(async (tx) => {
    const row: scimGroups.StoredScimGroup = {
      id: newId(),
      organisation_id: caller.organisationId,
      name: state.displayName,
      external_id: state.externalId,
      version: 1,
      created_at: now,
      last_updated_at: now,
    };
    await requireUniqueName(scimGroups.insert(tx, row));
    await auditGroup(tx, deps, request, 'create', row.id, { name: row.name });
    await replaceMembers(tx, deps, request, row, new Set(), state.members);
    return { row, members: [...state.members].toSorted() };
  });
}

/** Returns the group after the change; `next` computes its new state from the current one. */
export async function changeScimGroup(
  deps: AdminDeps,
  request: Request,
  next: (before: GroupWithMembers) => ScimGroupState,
): Promise<GroupWithMembers> {
  return deps.database.transaction(async (tx) => {
    const before = await lockGroup(tx, request);
    const { row } = before;
    const state = next(before);
    const previous = new Set(before.members);
    const renamed = state.displayName !== row.name || state.externalId !== row.external_id;
    const hasNewMembers = previous.symmetricDifference(state.members).size > 0;
    if (!renamed && !hasNewMembers) return before;
    if (renamed || state.members.difference(previous).size > 0) {
      requireGrantableMappings(request, await listMappings(tx, row));
    }
    const columns = {
      name: state.displayName,
      external_id: state.externalId,
      last_updated_at: request.now,
    };
    await requireUniqueName(scimGroups.update(tx, row, columns));
    const fields = [...(renamed ? ['name'] : []), ...(hasNewMembers ? ['members'] : [])];
    await auditGroup(tx, deps, request, 'update', row.id, { fields });
    await replaceMembers(tx, deps, request, row, previous, state.members);
    const changed = { ...row, ...columns, version: row.version + 1 };
    return { row: changed, members: [...state.members].toSorted() };
  });
}

/** Also deletes its mappings. */
export async function deleteScimGroup(deps: AdminDeps, request: Request): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const { row, members } = await lockGroup(tx, request);
    const { organisation_id, id } = row;
    const mappings = await listMappings(tx, row);
    requireGrantableMappings(request, mappings);
    await replaceMembers(tx, deps, request, row, new Set(members), new Set());
    await scimMappings.deleteWithClaims(tx, organisation_id, mappings);
    await scimGroups.deleteById(tx, organisation_id, id);
    await auditGroup(tx, deps, request, 'delete', id, { name: row.name });
  });
}

function listMappings(
  tx: Db,
  { organisation_id, id }: scimGroups.StoredScimGroup,
): Promise<scimMappings.StoredScimMapping[]> {
  return scimMappings.listByGroup(tx, organisation_id, id);
}

/**
 * New members and a new name decide who gets the roles to which a group is mapped; a name, because
 * sign-in finds groups by the names in claims. Removing members only takes roles away.
 *
 * @throws ApiError `forbidden` when a mapped role exceeds the author's scopes
 */
function requireGrantableMappings(
  { caller }: Author,
  mappings: readonly Pick<scimMappings.StoredScimMapping, 'role'>[],
): void {
  const roles = mappings.map(({ role }) => role);
  requireGrantableRoles(caller, roles, ['id']);
}

async function lockGroup(tx: Db, request: Request): Promise<GroupWithMembers> {
  const { caller, params } = request;
  requireWholeOrganisation(caller);
  const id = idOr404(params.id!);
  const row = await scimGroups.findForUpdate(tx, caller.organisationId, 'id', id);
  if (row === undefined) throw new ApiError('notFound');
  requireVersion(request, row.version);
  const members = await scimGroups.listMembers(tx, caller.organisationId, { groupIds: [id] });
  return { row, members: members.map(({ user_id }) => user_id) };
}

/** @throws ApiError `invalid` for a new member who is no user of the organisation */
async function replaceMembers(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  group: scimGroups.StoredScimGroup,
  previous: ReadonlySet<string>,
  current: ReadonlySet<string>,
): Promise<void> {
  const { organisation_id: organisationId } = group;
  const [added, removed] = [current.difference(previous), previous.difference(current)];
  for (const id of [...added].toSorted()) {
    if ((await users.findByIdForShare(tx, organisationId, id)) !== undefined) continue;
    throw validationError({
      path: ['members'],
      message: `contains somebody who is not a user of the organisation: ${id}`,
    });
  }
  await scimGroups.removeMembers(tx, group, [...removed]);
  await scimGroups.addMembers(tx, group, [...added]);
  const mappings = await listMappings(tx, group);
  for (const userId of [...added, ...removed].toSorted()) {
    for (const { workspace_id } of mappings)
      await settleMembership(tx, deps, author, userId, workspace_id);
  }
}

async function auditGroup(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  action: 'create' | 'update' | 'delete',
  resourceId: string,
  changes: Record<string, unknown>,
): Promise<void> {
  const entry = { action, kind: 'ScimGroup', resourceId, workspaceId: null, changes } as const;
  await auditChange(tx, deps, author, entry);
}

function requireUniqueName(writing: Promise<unknown>): Promise<unknown> {
  return requireUnique(writing, 'The organisation has a group of this name', 'displayName');
}
