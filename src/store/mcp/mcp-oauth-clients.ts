/** Table functions for mcp_oauth_clients: the clients that the gateway has registered at authorization servers. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import { rows } from '../rows/rows.ts';

interface McpOAuthClientRow {
  organisation_id: string;
  mcp_integration_id: string;
  /** SHA-256 of the issuer in hex. */
  issuer_hash: string;
  issuer: string;
  /** Where the client receives codes; another address needs a registration of its own. */
  redirect_uri: string;
  client_id: string;
  /** Sealed; null for a public client. */
  client_secret: string | null;
  /** How the client authenticates at the token endpoint. */
  auth_method: string;
  /** When the secret expires; null for never. */
  expires_at: number | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_oauth_clients: McpOAuthClientRow;
  }
}

export type StoredOAuthClient = Selectable<McpOAuthClientRow>;

/** Primary key. */
export type OAuthClientKey = Pick<
  StoredOAuthClient,
  'organisation_id' | 'mcp_integration_id' | 'issuer_hash'
>;

const table = rows('mcp_oauth_clients');

export const { find } = table.keyedBy('organisation_id', 'mcp_integration_id', 'issuer_hash');
export const deleteByIntegration = table.deleteBy('organisation_id', 'mcp_integration_id');

/** The last client of an integration; undefined without one. */
export function findNewest(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<Pick<StoredOAuthClient, 'client_id'> | undefined> {
  const where = { organisation_id: organisationId, mcp_integration_id: integrationId };
  return table.findFirst(db, where, { columns: ['client_id'], orderBy: ['created_at desc'] });
}

/** Returns false when another process has registered a client meanwhile. */
export function insert(db: Db, row: StoredOAuthClient): Promise<boolean> {
  return unlessDuplicate(table.insert(db, row));
}

/** Deletes a registration if it still has this client id. */
export async function deleteClient(
  db: Db,
  { organisation_id, mcp_integration_id, issuer_hash }: OAuthClientKey,
  clientId: string,
): Promise<void> {
  const where = { organisation_id, mcp_integration_id, issuer_hash, client_id: clientId };
  await table.delete(db, where);
}
