/** Table functions for mcp_authorizations: authorizations that users have begun at authorization servers. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { deleteBefore } from '../rows/old-rows.ts';
import { rows } from '../rows/rows.ts';

interface McpAuthorizationRow {
  organisation_id: string;
  /** SHA-256 of the state in hex. */
  state_hash: string;
  /** SHA-256 in hex of the value that the cookie of the browser contains. */
  browser_hash: string;
  mcp_server_id: string;
  user_id: string;
  /** PKCE code verifier; sealed. */
  verifier: string;
  /** The request and its authorization server, as JSON. */
  request: string;
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_authorizations: McpAuthorizationRow;
  }
}

export type StoredAuthorization = Selectable<McpAuthorizationRow>;

const table = rows('mcp_authorizations');
const expiredMax = 100;

export const deleteByServer = table.deleteBy('organisation_id', 'mcp_server_id');
export const deleteByUser = table.deleteBy('organisation_id', 'user_id');

/** Also deletes expired ones of the organisation. */
export async function insert(tx: Db, row: StoredAuthorization, now: number): Promise<void> {
  const aged = { table: 'mcp_authorizations', column: 'expires_at' } as const;
  await deleteBefore(tx, aged, row.organisation_id, now, expiredMax);
  await table.insert(tx, row);
}

/** Returns and deletes an authorization that has not expired; undefined when another request has taken it. */
export async function take(
  tx: Db,
  {
    organisation_id,
    state_hash,
    browser_hash,
  }: Pick<StoredAuthorization, 'organisation_id' | 'state_hash' | 'browser_hash'>,
  now: number,
): Promise<StoredAuthorization | undefined> {
  const row = await table.findForUpdate(tx, { organisation_id, state_hash, browser_hash });
  if (row === undefined) return undefined;
  await table.delete(tx, { organisation_id, state_hash });
  return row.expires_at > now ? row : undefined;
}

/** Deletes the authorizations for all servers of an integration. */
export async function deleteByIntegration(
  tx: Db,
  organisationId: string,
  integrationId: string,
): Promise<void> {
  await sql`delete from mcp_authorizations where organisation_id = ${organisationId}
    and mcp_server_id in (select id from mcp_servers where organisation_id = ${organisationId}
      and mcp_integration_id = ${integrationId})`.execute(tx);
}
