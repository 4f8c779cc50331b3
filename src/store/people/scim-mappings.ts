/** Table functions for scim_mappings: the workspaces, with a role, of which a group's people are members. */
import type { Insertable, Selectable } from 'kysely';
import type { WorkspaceRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { type RowCondition, resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import * as managedResources from '../sync/managed-resources.ts';

interface ScimMappingRow extends VersionColumns {
  id: string;
  organisation_id: string;
  group_id: string;
  workspace_id: string;
  role: WorkspaceRole;
}

declare module '../connection/db.ts' {
  interface Tables {
    scim_mappings: ScimMappingRow;
  }
}

/** A mapping as stored. */
export type StoredScimMapping = Selectable<ScimMappingRow>;

const table = resourceTable('scim_mappings', { hasSlug: false });

export const { findById, findByIdForUpdate } = table;
export const listByGroup = table.rows.listBy(['organisation_id', 'group_id'], { orderBy: ['id'] });
export const listByWorkspace = table.rows.listBy(['organisation_id', 'workspace_id'], {
  orderBy: ['id'],
});

/** Throws errno 1062 when the group is already mapped to the workspace. */
export async function insert(tx: Db, row: Insertable<ScimMappingRow>): Promise<void> {
  peopleMarks.replaceOne(tx, row.organisation_id);
  await table.insert(tx, row);
}

/** Increments the version. */
export async function update(
  tx: Db,
  organisationId: string,
  id: string,
  columns: Partial<Pick<StoredScimMapping, 'role' | 'last_updated_at'>>,
): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await table.update(tx, organisationId, id, columns);
}

export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await table.deleteById(tx, organisationId, id);
}

/** Deletes mappings together with their group or workspace, and their entries in managed_resources. */
export async function deleteWithClaims(
  tx: Db,
  organisationId: string,
  mappings: readonly Pick<StoredScimMapping, 'id'>[],
): Promise<void> {
  for (const { id } of mappings) {
    await deleteById(tx, organisationId, id);
    await managedResources.deleteByResource(tx, organisationId, 'ScimMapping', id);
  }
}

/** A mapping with the name of its group. */
export type NamedScimMapping = StoredScimMapping & { readonly group_name: string };

function withGroupName(db: Db, organisationId: string) {
  return db
    .selectFrom('scim_mappings')
    .innerJoin('scim_groups as g', (join) =>
      join
        .onRef('g.organisation_id', '=', 'scim_mappings.organisation_id')
        .onRef('g.id', '=', 'scim_mappings.group_id'),
    )
    .where('scim_mappings.organisation_id', '=', organisationId);
}

export function findNamed(
  db: Db,
  organisationId: string,
  id: string,
): Promise<NamedScimMapping | undefined> {
  return withGroupName(db, organisationId)
    .selectAll('scim_mappings')
    .select('g.name as group_name')
    .where('scim_mappings.id', '=', id)
    .executeTakeFirst();
}

/** Oldest first; `condition` selects a part of them. */
export function listAllForOrganisation(
  db: Db,
  organisationId: string,
  condition: RowCondition | null,
): Promise<NamedScimMapping[]> {
  return withGroupName(db, organisationId)
    .selectAll('scim_mappings')
    .select('g.name as group_name')
    .$if(condition !== null, (all) => all.where(condition!('scim_mappings', false)))
    .orderBy('scim_mappings.id')
    .execute();
}

/** Roles that a user has in a workspace through groups. */
export async function listRoles(
  db: Db,
  organisationId: string,
  userId: string,
  workspaceId: string,
): Promise<WorkspaceRole[]> {
  const found = await mappedRoles(db, organisationId, userId)
    .where('m.workspace_id', '=', workspaceId)
    .execute();
  return found.map(({ role }) => role);
}

/** Roles that a user has through groups, in any workspace. */
export async function listRolesOfUser(
  db: Db,
  organisationId: string,
  userId: string,
): Promise<WorkspaceRole[]> {
  const found = await mappedRoles(db, organisationId, userId).distinct().execute();
  return found.map(({ role }) => role);
}

function mappedRoles(db: Db, organisationId: string, userId: string) {
  return db
    .selectFrom('scim_mappings as m')
    .innerJoin('scim_group_members as g', (join) =>
      join
        .onRef('g.organisation_id', '=', 'm.organisation_id')
        .onRef('g.group_id', '=', 'm.group_id'),
    )
    .select('m.role')
    .where('m.organisation_id', '=', organisationId)
    .where('g.user_id', '=', userId);
}

export interface ScimMappingFilter {
  readonly workspaceId?: string | undefined;
  readonly groupId?: string | undefined;
  readonly role?: WorkspaceRole | undefined;
}

/** One page, newest first. */
export async function list(
  db: Db,
  organisationId: string,
  { workspaceId, groupId, role }: ScimMappingFilter,
  page: Page,
): Promise<{ rows: NamedScimMapping[]; total: number }> {
  const query = withGroupName(db, organisationId)
    .$if(workspaceId !== undefined, (all) => all.where('workspace_id', '=', workspaceId!))
    .$if(groupId !== undefined, (all) => all.where('group_id', '=', groupId!))
    .$if(role !== undefined, (all) => all.where('role', '=', role!));
  const stamp = peopleMarks.stampOf('scim_mappings', organisationId);
  return listJoined({ db, stamp, orderedBy: 'scim_mappings.id' }, query, page, (all) =>
    all.selectAll('scim_mappings').select('g.name as group_name'),
  );
}
