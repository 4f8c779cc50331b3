/** Locates the secrets of MCP integrations and servers: header values and users' tokens. */
import { mcpSecrets } from '../model/mcp/mcp-secret-fields.ts';
import type { ConnectionKey } from '../store/mcp/mcp-connections.ts';
import type { SecretLocations } from './secret-values.ts';

/** Secrets in the configuration of one integration. */
export function headerSecretLocations(integrationId: string): SecretLocations {
  return { context: `mcp_integrations|${integrationId}|configurations`, secrets: mcpSecrets };
}

/** Context to which a token of a connection is sealed. */
export function connectionContext(
  { mcp_server_id: serverId, user_id: userId }: ConnectionKey,
  column: 'access_token' | 'refresh_token',
): string {
  return `mcp_connections|${serverId}|${userId}|${column}`;
}
