/** Knows the mcp_connections table: the tokens by which people are known to MCP servers, sealed before they come here. */
import { randomInt } from 'node:crypto';
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';

interface McpConnectionRow {
  organisation_id: string;
  mcp_server_id: string;
  /** Of the user, or of the service account or key that has none. */
  user_id: string;
  access_token: string;
  refresh_token: string | null;
  version: number;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_connections: McpConnectionRow;
  }
}

/** A connection as stored. */
export type StoredMcpConnection = Selectable<McpConnectionRow>;

/** What tells one of them. */
export type ConnectionKey = Pick<
  StoredMcpConnection,
  'organisation_id' | 'mcp_server_id' | 'user_id'
>;

/** Versions of tokens that are put where there are none begin anywhere up to this. */
const firstVersionMax = 1_000_000_000;

/**
 * In place of what is there. The first version is drawn, so that tokens which come after forgotten ones
 * are not taken for those.
 */
export async function put(
  tx: Db,
  row: Omit<Insertable<McpConnectionRow>, 'version'>,
): Promise<void> {
  peopleMarks.replaceOne(tx, row.organisation_id);
  const { access_token, refresh_token, last_updated_at } = row;
  await tx
    .insertInto('mcp_connections')
    .values({ ...row, version: randomInt(1, firstVersionMax) })
    .onDuplicateKeyUpdate({
      ...{ access_token, refresh_token, last_updated_at },
      version: sql`version + 1`,
    })
    .execute();
}

/** False where there was none. */
export async function deleteOne(tx: Db, key: ConnectionKey): Promise<boolean> {
  peopleMarks.replaceOne(tx, key.organisation_id);
  const { numDeletedRows } = await tx
    .deleteFrom('mcp_connections')
    .where('organisation_id', '=', key.organisation_id)
    .where('mcp_server_id', '=', key.mcp_server_id)
    .where('user_id', '=', key.user_id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export async function deleteByServer(
  tx: Db,
  organisationId: string,
  serverId: string,
): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('mcp_connections')
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .execute();
}

export async function deleteByUser(tx: Db, organisationId: string, userId: string): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('mcp_connections')
    .where('organisation_id', '=', organisationId)
    .where('user_id', '=', userId)
    .execute();
}

/** Of all servers of an integration. */
export async function deleteByIntegration(
  tx: Db,
  organisationId: string,
  integrationId: string,
): Promise<void> {
  peopleMarks.replaceOne(tx, organisationId);
  await sql`delete from mcp_connections where organisation_id = ${organisationId}
    and mcp_server_id in (select id from mcp_servers where organisation_id = ${organisationId}
      and mcp_integration_id = ${integrationId})`.execute(tx);
}

export function find(db: Db, key: ConnectionKey): Promise<StoredMcpConnection | undefined> {
  return db
    .selectFrom('mcp_connections')
    .selectAll()
    .where('organisation_id', '=', key.organisation_id)
    .where('mcp_server_id', '=', key.mcp_server_id)
    .where('user_id', '=', key.user_id)
    .executeTakeFirst();
}

/** Those of a server, the newest users first; without tokens. */
export async function list(
  db: Db,
  { organisation_id, mcp_server_id }: Omit<ConnectionKey, 'user_id'>,
  userId: string | undefined,
  page: Page,
): Promise<{
  rows: Pick<StoredMcpConnection, 'user_id' | 'created_at' | 'last_updated_at'>[];
  total: number;
}> {
  const query = db
    .selectFrom('mcp_connections')
    .where('organisation_id', '=', organisation_id)
    .where('mcp_server_id', '=', mcp_server_id)
    .$if(userId !== undefined, (rows) => rows.where('user_id', '=', userId!));
  const stamp = peopleMarks.generationOf(sql`${organisation_id}`);
  return listJoined({ db, stamp, orderedBy: 'user_id' }, query, page, (connections) =>
    connections.select(['user_id as id', 'user_id', 'created_at', 'last_updated_at']),
  );
}
