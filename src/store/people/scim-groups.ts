/** Table functions for scim_groups and scim_group_members: groups of a directory and their members. */
import { type Selectable, sql, type Updateable } from 'kysely';
import type {
  ScimCondition,
  StoredAttribute,
  scimGroupAttributes,
} from '../../model/people/scim-filter.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { contains } from '../rows/resource-table.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { type ScimColumns, whereScim } from './scim-condition.ts';

interface ScimGroupRow extends VersionColumns {
  id: string;
  organisation_id: string;
  name: string;
  /** The directory's id of the group. */
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

type GroupKey = Pick<StoredScimGroup, 'organisation_id' | 'id'>;

const table = rows('scim_groups', { marks: peopleMarks, isVersioned: true });
const members = rows('scim_group_members');

/** Throws errno 1062 when the name is taken. */
export const { insert } = table;
export const deleteById = table.deleteBy('organisation_id', 'id');
export const findById = table.findBy('organisation_id', 'id');

/** Replaces a snapshot mark too, because snapshots contain the group names of mappings. */
export async function update(
  tx: Db,
  { organisation_id, id }: GroupKey,
  columns: Updateable<ScimGroupRow>,
): Promise<void> {
  snapshotMarks.replaceOne(tx, organisation_id);
  await table.update(tx, { organisation_id, id }, columns);
}

/** Locks the group until the transaction ends, so that changes of it and its consequences run one at a time. */
export function findForUpdate(
  tx: Db,
  organisationId: string,
  column: 'id' | 'name',
  value: string,
): Promise<StoredScimGroup | undefined> {
  return table.findForUpdate(tx, { organisation_id: organisationId, [column]: value });
}

/** Omits names that no group has. */
export const listByNames = table.listBy(['organisation_id', 'name'], { columns: ['id'] });

export interface ScimGroupFilter {
  /** Part of the name, in any case. */
  readonly search?: string | undefined;
  readonly condition?: ScimCondition | undefined;
}

const scimColumns: ScimColumns<StoredAttribute<typeof scimGroupAttributes>> = {
  id: sql.ref('id'),
  externalId: sql.ref('external_id'),
  displayName: sql.ref('name'),
  'members.value': sql.ref('member.user_id'),
  'meta.created': sql.ref('created_at'),
  'meta.lastModified': sql.ref('last_updated_at'),
};

const membersOfGroup = sql`
  select 1 from scim_group_members as member
  where member.organisation_id = scim_groups.organisation_id and member.group_id = scim_groups.id`;

export function list(
  db: Db,
  organisationId: string,
  { search, condition }: ScimGroupFilter,
  page: Page,
): Promise<{ rows: StoredScimGroup[]; total: number }> {
  const query = table
    .matching(db, { organisation_id: organisationId })
    .$if(search !== undefined, (all) => all.where(contains(sql.ref('name'), search!)))
    .$if(condition !== undefined, (all) =>
      all.where(whereScim(condition!, scimColumns, membersOfGroup)),
    );
  // Changes of members replace no stamp of groups.
  const stamp = condition === undefined ? peopleMarks.stampOf('scim_groups', organisationId) : null;
  return listPage({ db, stamp }, query, page);
}

/** Members of the groups, or the groups of one user. */
export function listMembers(
  db: Db,
  organisationId: string,
  of: { readonly groupIds: readonly string[] } | { readonly userId: string },
): Promise<Pick<ScimGroupMemberRow, 'group_id' | 'user_id'>[]> {
  const which = 'userId' in of ? { user_id: of.userId } : { group_id: of.groupIds };
  return members.list(
    db,
    { organisation_id: organisationId, ...which },
    { columns: ['group_id', 'user_id'], orderBy: ['user_id'] },
  );
}

/** Ignores users who are members already. */
export async function addMembers(
  tx: Db,
  { organisation_id, id }: GroupKey,
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
  { organisation_id, id }: GroupKey,
  userIds: readonly string[],
): Promise<void> {
  await members.delete(tx, { organisation_id, group_id: id, user_id: userIds });
}

export const deleteMembershipsOf = members.deleteBy('organisation_id', 'user_id');
