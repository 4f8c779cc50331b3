/** Knows the scim_groups and scim_group_members tables: groups of a directory, and who is in them. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { stampOf } from '../rows/people-marks.ts';
import { peopleTable } from '../rows/resource-table.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';

interface ScimGroupRow extends Versioned {
  id: string;
  organisation_id: string;
  name: string;
  /** What the directory calls it. */
  external_id: string | null;
}

interface ScimGroupMemberRow {
  organisation_id: string;
  group_id: string;
  user_id: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    scim_groups: ScimGroupRow;
    scim_group_members: ScimGroupMemberRow;
  }
}

/** A group as stored. */
export type StoredScimGroup = Selectable<ScimGroupRow>;

/** What must be unique is the name. */
const table = peopleTable('scim_groups');
export const { insert, deleteById } = table;

/** As of any table of people; snapshots tell the names of groups with their mappings. */
export function update(...[tx, row, columns]: Parameters<typeof table.update>): Promise<void> {
  snapshotMarks.replaceOne(tx, row.organisation_id);
  return table.update(tx, row, columns);
}

export function findById(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredScimGroup | undefined> {
  return by(db, organisationId, 'id', id).executeTakeFirst();
}

/** Held until the transaction ends: who changes a group, or what follows of it, does so alone. */
export function findForUpdate(
  tx: Db,
  organisationId: string,
  column: 'id' | 'name',
  value: string,
): Promise<StoredScimGroup | undefined> {
  return by(tx, organisationId, column, value).forUpdate().executeTakeFirst();
}

function by(db: Db, organisationId: string, column: 'id' | 'name', value: string) {
  return db
    .selectFrom('scim_groups')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where(column, '=', value);
}

/** Those of these names that are there. */
export async function listByNames(
  db: Db,
  organisationId: string,
  names: readonly string[],
): Promise<Pick<StoredScimGroup, 'id'>[]> {
  if (names.length === 0) return [];
  return db
    .selectFrom('scim_groups')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('name', 'in', names)
    .execute();
}

export interface ScimGroupFilter {
  /** Part of the name, in any case. */
  readonly search?: string | undefined;
  /** The whole name. */
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  { search, name, externalId }: ScimGroupFilter,
  page: Page,
): Promise<{ rows: StoredScimGroup[]; total: number }> {
  const query = db
    .selectFrom('scim_groups')
    .where('organisation_id', '=', organisationId)
    .$if(search !== undefined, (rows) =>
      rows.where(sql<boolean>`locate(lower(cast(${search} as char)), lower(name)) > 0`),
    )
    .$if(name !== undefined, (rows) => rows.where('name', '=', name!))
    .$if(externalId !== undefined, (rows) => rows.where('external_id', '=', externalId!));
  return listPage({ db, stamp: stampOf('scim_groups', organisationId) }, query, page);
}

/** Users of these groups, or the groups of one user. */
export function listMembers(
  db: Db,
  organisationId: string,
  of: { readonly groupIds: readonly string[] } | { readonly userId: string },
): Promise<Pick<ScimGroupMemberRow, 'group_id' | 'user_id'>[]> {
  return db
    .selectFrom('scim_group_members')
    .select(['group_id', 'user_id'])
    .where('organisation_id', '=', organisationId)
    .$if('groupIds' in of, (rows) => rows.where('group_id', 'in', (of as GroupIds).groupIds))
    .$if('userId' in of, (rows) => rows.where('user_id', '=', (of as UserId).userId))
    .orderBy('user_id')
    .execute();
}

type GroupIds = { readonly groupIds: readonly string[] };
type UserId = { readonly userId: string };

/** Users who are in the group already stay. */
export async function addMembers(
  tx: Db,
  { organisation_id, id }: Pick<StoredScimGroup, 'organisation_id' | 'id'>,
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return;
  await tx
    .insertInto('scim_group_members')
    .ignore()
    .values(userIds.map((user_id) => ({ organisation_id, group_id: id, user_id })))
    .execute();
}

export async function removeMembers(
  tx: Db,
  { organisation_id, id }: Pick<StoredScimGroup, 'organisation_id' | 'id'>,
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return;
  await tx
    .deleteFrom('scim_group_members')
    .where('organisation_id', '=', organisation_id)
    .where('group_id', '=', id)
    .where('user_id', 'in', userIds)
    .execute();
}

export async function deleteMembershipsOf(
  tx: Db,
  organisationId: string,
  userId: string,
): Promise<void> {
  await tx
    .deleteFrom('scim_group_members')
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .execute();
}
