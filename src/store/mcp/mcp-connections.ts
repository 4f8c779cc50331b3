/** Table functions for mcp_connections: the tokens of people at MCP servers. Callers seal tokens before storing them. */
import { randomInt } from 'node:crypto';
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { rows } from '../rows/rows.ts';

interface McpConnectionRow {
  organisation_id: string;
  mcp_server_id: string;
  /** Id of the user, or of the service account or key without a user. */
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

/** Primary key. */
export type ConnectionKey = Pick<
  StoredMcpConnection,
  'organisation_id' | 'mcp_server_id' | 'user_id'
>;

const table = rows('mcp_connections', { marks: peopleMarks });
const byKey = table.keyedBy('organisation_id', 'mcp_server_id', 'user_id');

/** The first version of new tokens is random, up to this. */
const firstVersionMax = 1_000_000_000;

/**
 * Inserts or replaces a connection. The first version is random, so that new tokens are not confused with
 * deleted ones of the same version.
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
      access_token,
      refresh_token,
      last_updated_at,
      version: sql`version + 1`,
    })
    .execute();
}

/** Returns false when there was no connection. */
export async function deleteOne(tx: Db, key: ConnectionKey): Promise<boolean> {
  return (await byKey.delete(tx, key)) > 0;
}

export const deleteByServer = table.deleteBy('organisation_id', 'mcp_server_id');
export const deleteByUser = table.deleteBy('organisation_id', 'user_id');

/** Deletes the connections to all servers of an integration. */
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

export const { find } = byKey;

/** Connections to a server, without tokens, the newest users first. */
export async function list(
  db: Db,
  { organisation_id, mcp_server_id }: Omit<ConnectionKey, 'user_id'>,
  userId: string | undefined,
  page: Page,
): Promise<{
  rows: Pick<StoredMcpConnection, 'user_id' | 'created_at' | 'last_updated_at'>[];
  total: number;
}> {
  const query = table.matching(db, { organisation_id, mcp_server_id, user_id: userId });
  const stamp = peopleMarks.generationOf(sql`${organisation_id}`);
  return listJoined({ db, stamp, orderedBy: 'user_id' }, query, page, (connections) =>
    connections.select(['user_id as id', 'user_id', 'created_at', 'last_updated_at']),
  );
}
