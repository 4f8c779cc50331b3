/** Knows how groups are mapped to workspaces and unmapped, with the members that come and go by it. */
import { ApiError } from '../../model/errors.ts';
import { newId } from '../../model/ids.ts';
import type { ScimMappingCreate } from '../../model/scim-mapping.ts';
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import { isDuplicateEntry } from '../../store/tables/duplicate.ts';
import * as scimGroups from '../../store/tables/scim-groups.ts';
import * as scimMappings from '../../store/tables/scim-mappings.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { requireGrantableRole } from '../request/grantable.ts';
import { idOr404, resolveWorkspaceForWrite } from '../request/scoping.ts';
import { settle } from './scim-membership.ts';
import { refuseBound } from './user-changes.ts';

/** Answers the row with the name of its group. */
export async function create(
  deps: AdminDeps,
  request: BodyRequest<ScimMappingCreate>,
): Promise<scimMappings.NamedScimMapping> {
  const { body, caller, now } = request;
  refuseBound(caller);
  requireGrantableRole(caller, 'workspace', body.role);
  return deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id, 'shared');
    const group = await lockGroup(tx, deps, request);
    const row: scimMappings.StoredScimMapping = {
      ...{ id: newId(), organisation_id: caller.organisationId, group_id: group.id },
      ...{ workspace_id: workspace!.id, role: body.role, created_at: now },
    };
    const others = await scimMappings.listByGroup(tx, caller.organisationId, group.id);
    if (others.some(({ role }) => role !== body.role)) {
      const message = `must be ${others[0]!.role}, as in the other mappings of the group`;
      throw validationError({ path: ['role'], message });
    }
    try {
      await scimMappings.insert(tx, row);
    } catch (error) {
      if (!isDuplicateEntry(error)) throw error;
      throw new ApiError('conflict', 'The group is mapped to this workspace already');
    }
    await auditChange(tx, deps, request, {
      ...{ action: 'create', kind: 'ScimMapping', resourceId: row.id },
      ...{ workspaceId: row.workspace_id, changes: { group: group.name, role: row.role } },
    });
    await settleAll(tx, deps, request, row);
    return { ...row, group_name: group.name };
  });
}

/** The group that the body means; a name that nobody has makes one. */
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
    throw validationError({ path: ['scim_group_id'], message: 'names no group' });
  }
  const name = body.scim_group_name!;
  const known = await find('name', name);
  if (known !== undefined) return known;
  const row = {
    ...{ id: newId(), organisation_id: caller.organisationId, name, external_id: null },
    ...{ created_at: now, last_updated_at: now },
  };
  try {
    await scimGroups.insert(tx, row);
  } catch (error) {
    // Another has made it meanwhile.
    const made = isDuplicateEntry(error) ? await find('name', name) : undefined;
    if (made === undefined) throw error;
    return made;
  }
  await auditChange(tx, deps, request, {
    ...{ action: 'create', kind: 'ScimGroup', resourceId: row.id, workspaceId: null },
    changes: { name },
  });
  return row;
}

/** Answers `{ success: true }`. */
export async function remove(deps: AdminDeps, request: AdminRequest): Promise<{ success: true }> {
  const { caller, params } = request;
  refuseBound(caller);
  const { organisationId } = caller;
  await deps.database.transaction(async (tx) => {
    const id = idOr404(params.id!);
    const found = await scimMappings.findById(tx, organisationId, id);
    if (found !== undefined) {
      await scimGroups.findForUpdate(tx, organisationId, 'id', found.group_id);
    }
    // Asked again, now that nobody else can take it away.
    const row = found && (await scimMappings.findById(tx, organisationId, id));
    if (row === undefined) throw new ApiError('notFound');
    await scimMappings.deleteById(tx, organisationId, id);
    await auditChange(tx, deps, request, {
      ...{ action: 'delete', kind: 'ScimMapping', resourceId: id },
      ...{ workspaceId: row.workspace_id, changes: {} },
    });
    await settleAll(tx, deps, request, row);
  });
  return { success: true };
}

async function settleAll(
  tx: Db,
  deps: AdminDeps,
  request: BodyRequest<unknown> | AdminRequest,
  { organisation_id, group_id, workspace_id }: scimMappings.StoredScimMapping,
): Promise<void> {
  const members = await scimGroups.listMembers(tx, organisation_id, { groupIds: [group_id] });
  for (const { user_id } of members) await settle(tx, deps, request, user_id, workspace_id);
}
