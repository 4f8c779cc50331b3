/** Knows the mcp_server_users table: which people an MCP server is open to, whatever holds of the others. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

interface McpServerUserRow {
  organisation_id: string;
  mcp_server_id: string;
  user_id: string;
  enabled: number;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_server_users: McpServerUserRow;
  }
}

/** What is said of one user, as stored. */
export type StoredMcpServerUser = Selectable<McpServerUserRow>;

/** Whom a server is open to, as told. */
export interface UserAccess {
  readonly userId: string;
  readonly enabled: boolean;
}

/** Says nothing where nothing is said. */
export async function upsertMany(
  tx: Db,
  organisationId: string,
  serverId: string,
  users: readonly UserAccess[],
  now: number,
): Promise<void> {
  if (users.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  const rows = users.map(({ userId, enabled }) => ({
    ...{ organisation_id: organisationId, mcp_server_id: serverId, user_id: userId },
    ...{ enabled: Number(enabled), created_at: now, last_updated_at: now },
  }));
  await tx
    .insertInto('mcp_server_users')
    .values(rows)
    .onDuplicateKeyUpdate({
      last_updated_at: sql`if(enabled = values(enabled), last_updated_at, values(last_updated_at))`,
      enabled: sql`values(enabled)`,
    })
    .execute();
}

export async function deleteMany(
  tx: Db,
  organisationId: string,
  serverId: string,
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('mcp_server_users')
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .where('user_id', 'in', userIds)
    .execute();
}

export async function deleteByServer(
  tx: Db,
  organisationId: string,
  serverId: string,
): Promise<void> {
  await tx
    .deleteFrom('mcp_server_users')
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .execute();
}

/** All that is said of a user, anywhere. */
export async function deleteByUser(tx: Db, organisationId: string, userId: string): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('mcp_server_users')
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .execute();
}

export function find(
  db: Db,
  organisationId: string,
  serverId: string,
  userId: string,
): Promise<StoredMcpServerUser | undefined> {
  return db
    .selectFrom('mcp_server_users')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
}

/** What these servers say of one user, by server. */
export async function listByUser(
  db: Db,
  organisationId: string,
  userId: string,
  serverIds: readonly string[],
): Promise<Map<string, boolean>> {
  if (serverIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('mcp_server_users')
    .select(['mcp_server_id', 'enabled'])
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .where('mcp_server_id', 'in', serverIds)
    .execute();
  return new Map(rows.map((row) => [row.mcp_server_id, row.enabled !== 0]));
}

/** Of one server, by user. */
export function listByServer(
  db: Db,
  organisationId: string,
  serverId: string,
): Promise<StoredMcpServerUser[]> {
  return db
    .selectFrom('mcp_server_users')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .orderBy('user_id')
    .execute();
}

/** By server and user. */
export function listAllForOrganisation(
  db: Db,
  organisationId: string,
): Promise<StoredMcpServerUser[]> {
  return db
    .selectFrom('mcp_server_users')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('mcp_server_id')
    .orderBy('user_id')
    .execute();
}

/** Somebody who is in the server's workspace, or of whom something is said. */
export type ServedUser = Pick<Selectable<Tables['users']>, 'id' | 'first_name' | 'last_name'> & {
  /** Null where nothing is said. */
  readonly enabled: number | null;
  readonly connected: number;
};

/** The newest users first. */
export async function list(
  db: Db,
  server: { readonly id: string; readonly organisation_id: string; readonly workspace_id: string },
  search: string | undefined,
  page: Page,
): Promise<{ rows: ServedUser[]; total: number }> {
  const name = sql`lower(concat_ws(' ', u.first_name, u.last_name, u.email))`;
  const query = db
    .selectFrom('users as u')
    .leftJoin('workspace_members as m', (join) =>
      join
        .onRef('m.organisation_id', '=', 'u.organisation_id')
        .on('m.workspace_id', '=', server.workspace_id)
        .onRef('m.user_id', '=', 'u.id'),
    )
    .leftJoin('mcp_server_users as a', (join) =>
      join
        .onRef('a.organisation_id', '=', 'u.organisation_id')
        .on('a.mcp_server_id', '=', server.id)
        .onRef('a.user_id', '=', 'u.id'),
    )
    .leftJoin('mcp_connections as c', (join) =>
      join
        .onRef('c.organisation_id', '=', 'u.organisation_id')
        .on('c.mcp_server_id', '=', server.id)
        .onRef('c.user_id', '=', 'u.id'),
    )
    .where('u.organisation_id', '=', server.organisation_id)
    .where((eb) => eb.or([eb('m.user_id', 'is not', null), eb('a.user_id', 'is not', null)]))
    .$if(search !== undefined, (rows) =>
      rows.where(sql<boolean>`locate(lower(cast(${search} as char)), ${name}) > 0`),
    );
  // Who is in the workspace, and of whom something is said: connections bring nobody to the list.
  const { organisation_id: organisationId } = server;
  const people = peopleMarks.stampOf('users', organisationId);
  const said = snapshotMarks.generationOf(sql`${organisationId}`);
  const stamp = sql<string>`concat(${people}, ' ', ${said})`;
  return listJoined({ db, stamp, orderedBy: 'u.id' }, query, page, (users) =>
    users
      .select(['u.id', 'u.first_name', 'u.last_name', 'a.enabled'])
      .select(sql<number>`c.user_id is not null`.as('connected')),
  );
}
