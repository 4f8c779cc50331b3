/** Table functions for workspace_members: the users of each workspace and their roles. */
import { type Insertable, type Selectable, sql } from 'kysely';
import type { OrganisationRole, WorkspaceRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { rows } from '../rows/rows.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import type { StoredUser } from './users.ts';

interface WorkspaceMemberRow extends VersionColumns {
  organisation_id: string;
  workspace_id: string;
  user_id: string;
  role: WorkspaceRole;
  /** `manual` when a person set it, `scim` when it follows from a directory's groups. */
  source: 'manual' | 'scim';
}

declare module '../connection/db.ts' {
  interface Tables {
    workspace_members: WorkspaceMemberRow;
  }
}

/** A membership as stored. */
export type StoredMember = Selectable<WorkspaceMemberRow>;

/** Primary key of a membership. */
export type MemberKey = Pick<StoredMember, 'organisation_id' | 'workspace_id' | 'user_id'>;

/** A membership with its user. */
export type MemberWithUser = StoredMember & {
  readonly user: Pick<StoredUser, 'first_name' | 'last_name' | 'email' | 'role' | 'status'>;
};

const table = rows('workspace_members', { marks: peopleMarks, isVersioned: true });
const users = rows('users');
const byKey = table.keyedBy('organisation_id', 'workspace_id', 'user_id');

export const { findForUpdate, delete: deleteOne } = byKey;
export const deleteByWorkspace = table.deleteBy('organisation_id', 'workspace_id');

/** Returns false, and writes nothing, when the user is already a member. */
export function insertUnlessMember(tx: Db, row: Insertable<WorkspaceMemberRow>): Promise<boolean> {
  return unlessDuplicate(table.insert(tx, row));
}

/** Increments the version. */
export async function updateRole(
  tx: Db,
  key: MemberKey,
  { role, source }: Pick<StoredMember, 'role' | 'source'>,
  now: number,
): Promise<void> {
  await byKey.update(tx, key, { role, source, last_updated_at: now });
}

/** Workspaces of each of the users, oldest first. */
export async function listWorkspaceIds(
  db: Db,
  organisationId: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, user_id: userIds },
    { columns: ['user_id', 'workspace_id'], orderBy: ['workspace_id'] },
  );
  const byUser = Map.groupBy(found, ({ user_id }) => user_id);
  return new Map(
    [...byUser].map(([id, own]) => [id, own.map(({ workspace_id }) => workspace_id)] as const),
  );
}

/** The user's role in each workspace of which the user is a member, by workspace id. */
export async function listRoles(
  db: Db,
  organisationId: string,
  userId: string,
): Promise<Map<string, WorkspaceRole>> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, user_id: userId },
    { columns: ['workspace_id', 'role'] },
  );
  return new Map(found.map(({ workspace_id, role }) => [workspace_id, role]));
}

export interface MemberFilter {
  readonly role?: WorkspaceRole | undefined;
  /** Key of the whole address. */
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
  const found = await listJoined({ db, stamp, orderedBy: 'm.user_id' }, query, page, (all) =>
    withUser(all).select('m.user_id as id'),
  );
  return { rows: found.rows.map(toMemberWithUser), total: found.total };
}

/** As {@link list}, for all members. */
export async function listAll(
  db: Db,
  { organisation_id, workspace_id }: WorkspaceKey,
  filter: MemberFilter = {},
): Promise<MemberWithUser[]> {
  const query = membersOf(db, organisation_id, workspace_id, filter);
  const found = await withUser(query).orderBy('m.user_id', 'desc').execute();
  return found.map(toMemberWithUser);
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

/**
 * Addresses of the active people who answer for a workspace: its admins and managers, and the owners and admins of the
 * organisation. Without a workspace only the latter.
 */
export async function listResponsibleEmails(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
): Promise<string[]> {
  const roles: OrganisationRole[] = ['owner', 'admin'];
  const everywhere = await users.list(
    db,
    { organisation_id: organisationId, role: roles, status: 'active' },
    { columns: ['email'], orderBy: ['email'] },
  );
  if (workspaceId === null) return everywhere.map(({ email }) => email);
  const here = await membersOf(db, organisationId, workspaceId, {})
    .select('u.email')
    .where('m.role', 'in', ['admin', 'manager'])
    .where('u.status', '=', 'active')
    .orderBy('u.email')
    .execute();
  return [...new Set([...here, ...everywhere].map(({ email }) => email))];
}

/** Owners of the organisation count as administrators of every workspace of which they are members. */
const effectiveRole = sql<WorkspaceRole>`if(u.role = 'owner', 'admin', m.role)`;

function membersOf(db: Db, organisationId: string, workspaceId: string, filter: MemberFilter) {
  const { role, emailKey, userId } = filter;
  return db
    .selectFrom('workspace_members as m')
    .innerJoin('users as u', (join) =>
      join.onRef('u.organisation_id', '=', 'm.organisation_id').onRef('u.id', '=', 'm.user_id'),
    )
    .where('m.organisation_id', '=', organisationId)
    .where('m.workspace_id', '=', workspaceId)
    .$if(role !== undefined, (all) => all.where(effectiveRole, '=', role!))
    .$if(emailKey !== undefined, (all) => all.where('u.email_key', '=', emailKey!))
    .$if(userId !== undefined, (all) => all.where('m.user_id', '=', userId!));
}
