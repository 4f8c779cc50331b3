/** Knows the workspace_members table: which users are in which workspaces, and in which role. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { WorkspaceRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import type { StoredUser } from './users.ts';

interface WorkspaceMemberRow extends Versioned {
  organisation_id: string;
  workspace_id: string;
  user_id: string;
  role: WorkspaceRole;
  /** Whether somebody said so, or it follows from a directory's groups. */
  source: 'manual' | 'scim';
}

declare module '../connection/db.ts' {
  interface Tables {
    workspace_members: WorkspaceMemberRow;
  }
}

/** A membership as stored. */
export type StoredMember = Selectable<WorkspaceMemberRow>;

/** What tells one of them. */
export type MemberKey = Pick<StoredMember, 'organisation_id' | 'workspace_id' | 'user_id'>;

/** A membership with whose it is. */
export type MemberWithUser = StoredMember & {
  readonly user: Pick<StoredUser, 'first_name' | 'last_name' | 'email' | 'role' | 'status'>;
};

/** False when the user is in the workspace already, and nothing was written. */
export async function insertUnlessMember(
  tx: Db,
  row: Insertable<WorkspaceMemberRow>,
): Promise<boolean> {
  peopleMarks.replaceOne(tx, row.organisation_id);
  return unlessDuplicate(tx.insertInto('workspace_members').values(row).execute());
}

export function findForUpdate(tx: Db, key: MemberKey): Promise<StoredMember | undefined> {
  return tx
    .selectFrom('workspace_members')
    .selectAll()
    .where('organisation_id', '=', key.organisation_id)
    .where('workspace_id', '=', key.workspace_id)
    .where('user_id', '=', key.user_id)
    .forUpdate()
    .executeTakeFirst();
}

/** Writes the role, and whence it is, and counts the write. */
export async function updateRole(
  tx: Db,
  key: MemberKey,
  { role, source }: Pick<StoredMember, 'role' | 'source'>,
  now: number,
): Promise<void> {
  peopleMarks.replaceOne(tx, key.organisation_id);
  await tx
    .updateTable('workspace_members')
    .set({ role, source, last_updated_at: now, version: sql`version + 1` })
    .where('organisation_id', '=', key.organisation_id)
    .where('workspace_id', '=', key.workspace_id)
    .where('user_id', '=', key.user_id)
    .execute();
}

export async function deleteOne(tx: Db, key: MemberKey): Promise<void> {
  peopleMarks.replaceOne(tx, key.organisation_id);
  await tx
    .deleteFrom('workspace_members')
    .where('organisation_id', '=', key.organisation_id)
    .where('workspace_id', '=', key.workspace_id)
    .where('user_id', '=', key.user_id)
    .execute();
}

export async function deleteByWorkspace(
  tx: Db,
  organisationId: string,
  workspaceId: string,
): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('workspace_members')
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', '=', workspaceId)
    .execute();
}

/** Workspaces of each of these users, oldest first. */
export async function listWorkspaceIds(
  db: Db,
  organisationId: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('workspace_members')
    .select(['user_id', 'workspace_id'])
    .where('organisation_id', '=', organisationId)
    .where('user_id', 'in', userIds)
    .orderBy('workspace_id')
    .execute();
  const grouped = Map.groupBy(rows, ({ user_id }) => user_id);
  return new Map(
    [...grouped].map(([id, of]) => [id, of.map(({ workspace_id }) => workspace_id)] as const),
  );
}

/** The role of a user in each workspace that the user is in, by its id. */
export async function listRoles(
  db: Db,
  organisationId: string,
  userId: string,
): Promise<Map<string, WorkspaceRole>> {
  const rows = await db
    .selectFrom('workspace_members')
    .select(['workspace_id', 'role'])
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .execute();
  return new Map(rows.map(({ workspace_id, role }) => [workspace_id, role]));
}

export interface MemberFilter {
  readonly role?: WorkspaceRole | undefined;
  /** The whole address, as its key. */
  readonly emailKey?: string | undefined;
  readonly userId?: string | undefined;
}

type WorkspaceKey = Pick<StoredMember, 'organisation_id' | 'workspace_id'>;

/** One page of the members of a workspace, the newest users first. */
export async function list(
  db: Db,
  { organisation_id, workspace_id }: WorkspaceKey,
  filter: MemberFilter,
  page: Page,
): Promise<{ rows: MemberWithUser[]; total: number }> {
  const generation = peopleMarks.generationOf(sql`${organisation_id}`);
  const newest = sql`(select max(user_id) from workspace_members
    where organisation_id = ${organisation_id} and workspace_id = ${workspace_id})`;
  const stamp = sql<string>`concat(${generation}, ' ', ${newest})`;
  const query = membersOf(db, organisation_id, workspace_id, filter);
  const { rows, total } = await listJoined(
    { db, stamp, orderedBy: 'm.user_id' },
    query,
    page,
    (all) => withUser(all).select('m.user_id as id'),
  );
  return { rows: rows.map(toMemberWithUser), total };
}

/** As {@link list}; all of them. */
export async function listAll(
  db: Db,
  { organisation_id, workspace_id }: WorkspaceKey,
  filter: MemberFilter = {},
): Promise<MemberWithUser[]> {
  const query = membersOf(db, organisation_id, workspace_id, filter);
  const rows = await withUser(query).orderBy('m.user_id', 'desc').execute();
  return rows.map(toMemberWithUser);
}

function withUser(query: ReturnType<typeof membersOf>) {
  return query
    .selectAll('m')
    .select(['u.first_name', 'u.last_name', 'u.email', 'u.status', 'u.role as org_role']);
}

function toMemberWithUser({
  first_name,
  last_name,
  email,
  status,
  org_role,
  ...row
}: Awaited<ReturnType<ReturnType<typeof withUser>['execute']>>[number]): MemberWithUser {
  return { ...row, user: { first_name, last_name, email, status, role: org_role } };
}

/** How owners and administrators of the organisation stand in a workspace is told as admin. */
const toldRole = sql<WorkspaceRole>`if(u.role = 'owner', 'admin', m.role)`;

function membersOf(db: Db, organisationId: string, workspaceId: string, filter: MemberFilter) {
  const { role, emailKey, userId } = filter;
  return db
    .selectFrom('workspace_members as m')
    .innerJoin('users as u', (join) =>
      join.onRef('u.organisation_id', '=', 'm.organisation_id').onRef('u.id', '=', 'm.user_id'),
    )
    .where('m.organisation_id', '=', organisationId)
    .where('m.workspace_id', '=', workspaceId)
    .$if(role !== undefined, (rows) => rows.where(toldRole, '=', role!))
    .$if(emailKey !== undefined, (rows) => rows.where('u.email_key', '=', emailKey!))
    .$if(userId !== undefined, (rows) => rows.where('m.user_id', '=', userId!));
}
