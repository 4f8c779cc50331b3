/**
 * Creates, updates and deletes mappings of groups to workspaces and adjusts the memberships that follow.
 */

import type { ScimMappingCreate, ScimMappingUpdate } from '../../model/people/scim-mapping.ts';
import { newId } from '../../model/wire/ids.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import { isDuplicateEntry } from '../../store/rows/duplicate.ts';
import { requireGrantableRole } from '../access/grantable.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import type { BodyRequest, CreateFields, UpdateFields } from '../request/frame-fields.ts';
import {
  baseColumns,
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { settleMembership } from './scim-membership.ts';

/** Returns the row with the name of its group. */
export async function createScimMapping(
  deps: AdminDeps,
  request: BodyRequest<ScimMappingCreate & CreateFields>,
): Promise<scimMappings.NamedScimMapping> {
  const { body, caller } = request;
  requireWholeOrganisation(caller);
  requireGrantableRole(caller, 'workspace', body.role);
  return createResource(deps, request, 'ScimMapping', async (tx, workspace) => {
    const group = await lockGroup(tx, deps, request);
    const row: scimMappings.StoredScimMapping = {
      ...baseColumns(request, workspace!),
      group_id: group.id,
      role: body.role,
      version: 1,
    };
    await requireOneRole(tx, row, body);
    const inserting = scimMappings.insert(tx, row);
    await requireUnique(inserting, 'The group is mapped to this workspace already');
    await settleAll(tx, deps, request, row);
    const changes = { group: group.name, role: row.role };
    return { row: { ...row, group_name: group.name }, changes };
  });
}

/**
 * All mappings of a group must have one role. Manifests change mappings one after the other, so an owner's
 * mappings may differ temporarily.
 *
 * @throws ApiError `invalid` when another mapping of the group has a different role
 */
async function requireOneRole(
  tx: Db,
  { id, organisation_id, group_id }: scimMappings.StoredScimMapping,
  body: Pick<ScimMappingUpdate & CreateFields, 'role' | 'managed_by'>,
): Promise<void> {
  if (body.role === undefined || body.managed_by !== undefined) return;
  const all = await scimMappings.listByGroup(tx, organisation_id, group_id);
  const other = all.find((one) => one.id !== id && one.role !== body.role);
  if (other === undefined) return;
  const message = `must be ${other.role}, as in the other mappings of the group`;
  throw validationError({ path: ['role'], message });
}

/** Locks the group first, so that changes of its mappings are serialised. */
const writer: ResourceWriter<scimMappings.StoredScimMapping> = {
  kind: 'ScimMapping',
  param: 'id',
  lock: async (tx, organisationId, reference) => {
    const id = idOr404(reference);
    const mapping = await scimMappings.findById(tx, organisationId, id);
    if (mapping === undefined) return undefined;
    await scimGroups.findForUpdate(tx, organisationId, 'id', mapping.group_id);
    // Read again under the lock, because it may have been deleted meanwhile.
    return scimMappings.findByIdForUpdate(tx, organisationId, id);
  },
  write: scimMappings.update,
};

/** Returns `{}`; members by this mapping get the new role. */
export async function updateScimMapping(
  deps: AdminDeps,
  request: BodyRequest<ScimMappingUpdate & UpdateFields>,
): Promise<Record<string, never>> {
  const { body, caller } = request;
  requireWholeOrganisation(caller);
  if (body.role !== undefined) requireGrantableRole(caller, 'workspace', body.role);
  await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      if (body.role !== row.role) await requireOneRole(tx, row, body);
      return { role: body.role };
    },
    follow: async (tx, row, changed) => {
      if (changed.role !== undefined) await settleAll(tx, deps, request, row);
    },
  });
  return {};
}

/** Finds and locks the group that the body names; an unknown name creates a group. */
async function lockGroup(
  tx: Db,
  deps: AdminDeps,
  request: BodyRequest<ScimMappingCreate>,
): Promise<Pick<scimGroups.StoredScimGroup, 'id' | 'name'>> {
  const { body, caller, now } = request;
  const find = (column: 'id' | 'name', value: string) =>
    scimGroups.findForUpdate(tx, caller.organisationId, column, value);
  if (body.scim_group_id !== undefined) {
    const group = await find('id', body.scim_group_id);
    if (group !== undefined) return group;
    throw validationError({ path: ['scim_group_id'], message: 'is not a group' });
  }
  const name = body.scim_group_name!;
  const existing = await find('name', name);
  if (existing !== undefined) return existing;
  const row = {
    id: newId(),
    organisation_id: caller.organisationId,
    name,
    external_id: null,
    created_at: now,
    last_updated_at: now,
  };
  try {
    await scimGroups.insert(tx, row);
  } catch (error) {
    // A concurrent request has created it meanwhile.
    const created = isDuplicateEntry(error) ? await find('name', name) : undefined;
    if (created === undefined) throw error;
    return created;
  }
  await auditChange(tx, deps, request, {
    action: 'create',
    kind: 'ScimGroup',
    resourceId: row.id,
    workspaceId: null,
    changes: { name },
  });
  return row;
}

/** Returns `{ success: true }`. */
export async function deleteScimMapping(
  deps: AdminDeps,
  request: Parameters<typeof deleteResource>[1],
): Promise<{ success: true }> {
  requireWholeOrganisation(request.caller);
  await deleteResource(deps, request, writer, async (tx, row) => {
    await scimMappings.deleteById(tx, row.organisation_id, row.id);
    await settleAll(tx, deps, request, row);
    return {};
  });
  return { success: true };
}

async function settleAll(
  tx: Db,
  deps: AdminDeps,
  request: Author,
  { organisation_id, group_id, workspace_id }: scimMappings.StoredScimMapping,
): Promise<void> {
  const members = await scimGroups.listMembers(tx, organisation_id, { groupIds: [group_id] });
  for (const { user_id } of members)
    await settleMembership(tx, deps, request, user_id, workspace_id);
}
