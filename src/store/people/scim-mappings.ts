/** Knows the scim_mappings table: which workspaces the people of a group are members of, and in which role. */
import type { Insertable, Selectable } from 'kysely';
import type { WorkspaceRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { resourceTable, type Which } from '../rows/resource-table.ts';
import type { Versioned } from '../rows/versioned.ts';
import * as managedResources from '../sync/managed-resources.ts';

interface ScimMappingRow extends Versioned {
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

const table = resourceTable('scim_mappings');
export const { findByIdForUpdate } = table;

/** Throws errno 1062 when the group is mapped to the workspace already. */
export async function insert(tx: Db, row: Insertable<ScimMappingRow>): Promise<void> {
  peopleMarks.replaceOne(tx, row.organisation_id);
  await table.insert(tx, row);
}

/** Writes columns and counts the write. */
export async function update(
  tx: Db,
  organisationId: string,
  id: string,
  columns: Partial<Pick<StoredScimMapping, 'role' | 'last_updated_at'>>,
): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await table.update(tx, organisationId, id, columns);
}

function named(db: Db, organisationId: string) {
  return db
    .selectFrom('scim_mappings')
    .innerJoin('scim_groups as g', (join) =>
      join
        .onRef('g.organisation_id', '=', 'scim_mappings.organisation_id')
        .onRef('g.id', '=', 'scim_mappings.group_id'),
    )
    .selectAll('scim_mappings')
    .select('g.name as group_name')
    .where('scim_mappings.organisation_id', '=', organisationId);
}

export function findNamed(
  db: Db,
  organisationId: string,
  id: string,
): Promise<NamedScimMapping | undefined> {
  return named(db, organisationId).where('scim_mappings.id', '=', id).executeTakeFirst();
}

/** With the names of their groups, oldest first; `which` leaves some out. */
export function listAllForOrganisation(
  db: Db,
  organisationId: string,
  which: Which | null,
): Promise<NamedScimMapping[]> {
  return named(db, organisationId)
    .$if(which !== null, (rows) => rows.where(which!('scim_mappings', false)))
    .orderBy('scim_mappings.id')
    .execute();
}

export function findById(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredScimMapping | undefined> {
  return db
    .selectFrom('scim_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export function listByGroup(
  db: Db,
  organisationId: string,
  groupId: string,
): Promise<StoredScimMapping[]> {
  return db
    .selectFrom('scim_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('group_id', '=', groupId)
    .orderBy('id')
    .execute();
}

/** Roles that somebody has in a workspace by the groups that he is in. */
export async function listRoles(
  db: Db,
  organisationId: string,
  userId: string,
  workspaceId: string,
): Promise<WorkspaceRole[]> {
  const rows = await db
    .selectFrom('scim_mappings as m')
    .innerJoin('scim_group_members as g', (join) =>
      join
        .onRef('g.organisation_id', '=', 'm.organisation_id')
        .onRef('g.group_id', '=', 'm.group_id'),
    )
    .select('m.role')
    .where('m.organisation_id', '=', organisationId)
    .where('m.workspace_id', '=', workspaceId)
    .where('g.user_id', '=', userId)
    .execute();
  return rows.map(({ role }) => role);
}

export interface ScimMappingFilter {
  readonly workspaceId?: string | undefined;
  readonly groupId?: string | undefined;
  readonly role?: WorkspaceRole | undefined;
}

/** A mapping with the name of its group, newest first. */
export type NamedScimMapping = StoredScimMapping & { readonly group_name: string };

export async function list(
  db: Db,
  organisationId: string,
  { workspaceId, groupId, role }: ScimMappingFilter,
  page: Page,
): Promise<{ rows: NamedScimMapping[]; total: number }> {
  const query = db
    .selectFrom('scim_mappings as m')
    .innerJoin('scim_groups as g', (join) =>
      join.onRef('g.organisation_id', '=', 'm.organisation_id').onRef('g.id', '=', 'm.group_id'),
    )
    .where('m.organisation_id', '=', organisationId)
    .$if(workspaceId !== undefined, (rows) => rows.where('m.workspace_id', '=', workspaceId!))
    .$if(groupId !== undefined, (rows) => rows.where('m.group_id', '=', groupId!))
    .$if(role !== undefined, (rows) => rows.where('m.role', '=', role!));
  const stamp = peopleMarks.stampOf('scim_mappings', organisationId);
  return listJoined({ db, stamp, orderedBy: 'm.id' }, query, page, (rows) =>
    rows.selectAll('m').select('g.name as group_name'),
  );
}

export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await table.deleteById(tx, organisationId, id);
}

/** Those of a group or a workspace that goes, with what manifests say of them. */
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

export function listByWorkspace(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<StoredScimMapping[]> {
  return db
    .selectFrom('scim_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute();
}
