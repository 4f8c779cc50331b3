/** Knows how requests find MCP integrations and servers, what their changes go through, and which scope an integration asks for. */

import type { Db } from '../../store/connection/db.ts';
import * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import * as mcpServers from '../../store/tables/mcp-servers.ts';
import type { AdminRequest } from '../request/deps.ts';
import { placedScopes } from '../request/placed-scopes.ts';
import type { Changing } from '../request/resource-change.ts';
import { findOr404 } from '../request/scoping.ts';

type Named = Pick<AdminRequest, 'caller' | 'params'>;

export const mcpScopes = placedScopes('mcp_integrations');

export const integrationChanging: Changing<mcpIntegrations.StoredMcpIntegration> = {
  kind: 'McpIntegration',
  param: 'mcpIntegrationId',
  lock: mcpIntegrations.findByIdOrSlugForUpdate,
  write: mcpIntegrations.update,
  admit: mcpScopes.require,
};

export const serverChanging: Changing<mcpServers.StoredMcpServer> = {
  kind: 'McpServer',
  param: 'mcpServerId',
  lock: mcpServers.findByIdOrSlugForUpdate,
  write: mcpServers.update,
};

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
