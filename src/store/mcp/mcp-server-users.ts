/** Table functions for mcp_server_users: people whose access to an MCP server differs from its default. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { contains } from '../rows/resource-table.ts';
import { rows } from '../rows/rows.ts';
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

/** Access of one user, as stored. */
export type StoredMcpServerUser = Selectable<McpServerUserRow>;

/** Access of one user, as set. */
export interface UserAccess {
  readonly userId: string;
  readonly enabled: boolean;
}

export async function upsertMany(
  tx: Db,
  organisationId: string,
  serverId: string,
  users: readonly UserAccess[],
  now: number,
): Promise<void> {
  if (users.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  const values = users.map(({ userId, enabled }) => ({
    organisation_id: organisationId,
    mcp_server_id: serverId,
    user_id: userId,
    enabled: Number(enabled),
    created_at: now,
    last_updated_at: now,
  }));
  await tx
    .insertInto('mcp_server_users')
    .values(values)
    .onDuplicateKeyUpdate({
      last_updated_at: sql`if(enabled = values(enabled), last_updated_at, values(last_updated_at))`,
      enabled: sql`values(enabled)`,
    })
    .execute();
}

const table = rows('mcp_server_users', { marks: snapshotMarks });

export const deleteMany = table.deleteBy('organisation_id', 'mcp_server_id', 'user_id');

/** Used when the server itself is deleted, which replaces the snapshot mark. */
export const deleteByServer = rows('mcp_server_users').deleteBy('organisation_id', 'mcp_server_id');

/** Deletes the user's rows at all servers. */
export const deleteByUser = table.deleteBy('organisation_id', 'user_id');

export const find = table.findBy('organisation_id', 'mcp_server_id', 'user_id');

/** Whether the user is enabled, by server; servers without a row are absent. */
export async function listByUser(
  db: Db,
  organisationId: string,
  userId: string,
  serverIds: readonly string[],
): Promise<Map<string, boolean>> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, user_id: userId, mcp_server_id: serverIds },
    { columns: ['mcp_server_id', 'enabled'] },
  );
  return new Map(found.map((row) => [row.mcp_server_id, row.enabled !== 0]));
}

/** Rows of one server, ordered by user. */
export const listByServer = table.listBy(['organisation_id', 'mcp_server_id'], {
  orderBy: ['user_id'],
});

/** Ordered by server and user. */
export const listAllForOrganisation = table.listBy(['organisation_id'], {
  orderBy: ['mcp_server_id', 'user_id'],
});

/** A member of the server's workspace, or a user with a row of their own. */
export type ServerUser = Pick<Selectable<Tables['users']>, 'id' | 'first_name' | 'last_name'> & {
  /** Null without a row; the server's default applies. */
  readonly enabled: number | null;
  readonly connected: number;
};

/** The newest users first. */
export async function list(
  db: Db,
  server: { readonly id: string; readonly organisation_id: string; readonly workspace_id: string },
  search: string | undefined,
  page: Page,
): Promise<{ rows: ServerUser[]; total: number }> {
  const name = sql`concat_ws(' ', u.first_name, u.last_name, u.email)`;
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
    .$if(search !== undefined, (all) => all.where(contains(name, search!)));
  // Members and rows determine the list; connections add nobody.
  const { organisation_id: organisationId } = server;
  const people = peopleMarks.stampOf('users', organisationId);
  const access = snapshotMarks.generationOf(sql`${organisationId}`);
  const stamp = sql<string>`concat(${people}, ' ', ${access})`;
  return listJoined({ db, stamp, orderedBy: 'u.id' }, query, page, (users) =>
    users
      .select(['u.id', 'u.first_name', 'u.last_name', 'a.enabled'])
      .select(sql<number>`c.user_id is not null`.as('connected')),
  );
}
