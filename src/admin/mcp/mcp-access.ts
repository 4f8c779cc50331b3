/** Knows how requests find MCP integrations and servers, and which scope an integration asks for. */

import type { Db } from '../../store/connection/db.ts';
import type * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import type * as mcpServers from '../../store/tables/mcp-servers.ts';
import type { AdminRequest } from '../request/deps.ts';
import { placedScopes } from '../request/placed-scopes.ts';
import { findOr404 } from '../request/scoping.ts';

type Named = Pick<AdminRequest, 'caller' | 'params'>;

export const mcpScopes = placedScopes('mcp_integrations');

/** The integration the path names. */
export async function findIntegration(
  db: Db,
  { caller, params }: Named,
  find: typeof mcpIntegrations.findByIdOrSlug,
): Promise<mcpIntegrations.StoredMcpIntegration> {
  const found = await find(db, caller.organisationId, params.mcpIntegrationId!);
  return findOr404(caller, found);
}

/** The server the path names. */
export async function findServer(
  db: Db,
  { caller, params }: Named,
  find: typeof mcpServers.findByIdOrSlug,
): Promise<mcpServers.StoredMcpServer> {
  return findOr404(caller, await find(db, caller.organisationId, params.mcpServerId!));
}
