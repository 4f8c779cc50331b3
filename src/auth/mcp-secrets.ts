/** Knows where the secrets of MCP integrations and servers are kept: values of headers, tokens of people. */
import { mcpSecrets } from '../model/mcp-secret-fields.ts';
import type { ConnectionKey } from '../store/tables/mcp-connections.ts';
import type { SecretPlaces } from './secret-values.ts';

/** Those of the configurations of one integration. */
export function headerPlaces(integrationId: string): SecretPlaces {
  return { context: `mcp_integrations|${integrationId}|configurations`, secrets: mcpSecrets };
}

/** What a token of a connection is sealed to. */
export function connectionContext(
  { mcp_server_id: serverId, user_id: userId }: ConnectionKey,
  column: 'access_token' | 'refresh_token',
): string {
  return `mcp_connections|${serverId}|${userId}|${column}`;
}
