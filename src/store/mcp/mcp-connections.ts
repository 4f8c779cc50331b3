/** Table functions for mcp_connections: the tokens of people at MCP servers. Callers seal tokens before storing them. */
import { randomInt } from 'node:crypto';
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { lessThan, nullOr } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface McpConnectionRow {
  organisation_id: string;
  mcp_server_id: string;
  /** Id of the user, or of the service account or key without a user. */
  user_id: string;
  access_token: string;
  refresh_token: string | null;
  /** How the tokens were granted, as JSON; null for tokens that were stored by request. */
  oauth_grant: string | null;
  /** When the access token expires; null when that is unknown. */
  expires_at: number | null;
  /** Id of the refresh in progress; null for none. */
  refresh_claim: string | null;
  /** No other refresh begins before this time. */
  refresh_claimed_until: number | null;
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
/** Claims change nothing that is listed. */
const claims = rows('mcp_connections');
const byKey = table.keyedBy('organisation_id', 'mcp_server_id', 'user_id');

const unclaimed = { refresh_claim: null, refresh_claimed_until: null };

/** The first version of new tokens is random, up to this. */
const firstVersionMax = 1_000_000_000;

/**
 * Inserts or replaces a connection. The first version is random, so that new tokens are not confused with
 * deleted ones of the same version.
 */
export async function put(
  tx: Db,
  row: Omit<Insertable<McpConnectionRow>, 'version' | keyof typeof unclaimed>,
): Promise<void> {
  peopleMarks.replaceOne(tx, row.organisation_id);
  const { access_token, refresh_token, oauth_grant, expires_at, last_updated_at } = row;
  await tx
    .insertInto('mcp_connections')
    .values({ ...row, ...unclaimed, version: randomInt(1, firstVersionMax) })
    .onDuplicateKeyUpdate({
      access_token,
      refresh_token,
      oauth_grant,
      expires_at,
      ...unclaimed,
      last_updated_at,
      version: sql`version + 1`,
    })
    .execute();
}

/** One refresh of the tokens of a connection. */
export interface RefreshClaim {
  readonly id: string;
  /** Version of the tokens to refresh. */
  readonly version: number;
  readonly until: number;
}

/** The key of an object that has more members, such as a row. */
function keyOf({ organisation_id, mcp_server_id, user_id }: ConnectionKey): ConnectionKey {
  return { organisation_id, mcp_server_id, user_id };
}

/** Returns whether this refresh may use the refresh token: no other one does, and the tokens are unchanged. */
export async function claimRefresh(
  db: Db,
  key: ConnectionKey,
  { id, version, until }: RefreshClaim,
  now: number,
): Promise<boolean> {
  const where = { ...keyOf(key), version, refresh_claimed_until: nullOr(lessThan(now)) };
  return (await claims.update(db, where, { refresh_claim: id, refresh_claimed_until: until })) > 0;
}

/** Ends a refresh without new tokens; the next one begins after `until`. */
export async function releaseRefresh(
  db: Db,
  key: ConnectionKey,
  { id }: Pick<RefreshClaim, 'id'>,
  until: number,
): Promise<void> {
  const where = { ...keyOf(key), refresh_claim: id };
  await claims.update(db, where, { refresh_claim: null, refresh_claimed_until: until });
}

/** Ends a refresh with new tokens; returns false when the connection was deleted or replaced meanwhile. */
export async function storeRefreshed(
  tx: Db,
  key: ConnectionKey,
  { id }: Pick<RefreshClaim, 'id'>,
  tokens: Pick<
    StoredMcpConnection,
    'access_token' | 'refresh_token' | 'expires_at' | 'last_updated_at'
  >,
): Promise<boolean> {
  const set = { ...tokens, ...unclaimed, version: sql<number>`version + 1` };
  return (await table.update(tx, { ...keyOf(key), refresh_claim: id }, set)) > 0;
}

/** Deletes the connection unless its tokens have changed since they had this version. */
export async function deleteVersion(tx: Db, key: ConnectionKey, version: number): Promise<boolean> {
  return (await table.delete(tx, { ...keyOf(key), version })) > 0;
}

/** Returns false when there was no connection. */
export async function deleteOne(tx: Db, key: ConnectionKey): Promise<boolean> {
  return (await byKey.delete(tx, key)) > 0;
}

export const deleteByServer = table.deleteBy('organisation_id', 'mcp_server_id');
export const deleteByUser = table.deleteBy('organisation_id', 'user_id');

/** The connections of one user, to one server, or to all servers of an integration. */
export interface ConnectionFilter {
  readonly organisation_id: string;
  readonly mcp_server_id?: string;
  readonly user_id?: string;
  readonly mcp_integration_id?: string;
}

/** Connections whose tokens an authorization server has granted to the gateway. */
export function listWithGrant(
  tx: Db,
  { organisation_id, mcp_server_id, user_id, mcp_integration_id }: ConnectionFilter,
  max: number,
): Promise<StoredMcpConnection[]> {
  let query = tx
    .selectFrom('mcp_connections')
    .selectAll()
    .where('organisation_id', '=', organisation_id)
    .where('oauth_grant', 'is not', null);
  if (mcp_server_id !== undefined) query = query.where('mcp_server_id', '=', mcp_server_id);
  if (user_id !== undefined) query = query.where('user_id', '=', user_id);
  if (mcp_integration_id !== undefined) {
    query = query.where('mcp_server_id', 'in', (servers) =>
      servers
        .selectFrom('mcp_servers')
        .select('id')
        .where('organisation_id', '=', organisation_id)
        .where('mcp_integration_id', '=', mcp_integration_id),
    );
  }
  return query.limit(max).execute();
}

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
