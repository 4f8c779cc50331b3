/** Looks up the MCP integrations and servers of requests and checks their scopes. */

import { isGranted } from '../../model/providers/integration-access.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpIntegrationWorkspaces from '../../store/mcp/mcp-integration-workspaces.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { createLocationScopes } from '../access/location-scopes.ts';
import type { AdminRequest } from '../request/deps.ts';
import type { ResourceWriter } from '../request/resource-change.ts';
import { findIn } from '../request/scoping.ts';

type PathRequest = Pick<AdminRequest, 'caller' | 'params'>;

export const mcpScopes = createLocationScopes({
  organisation: 'organisation_mcp_integrations',
  workspace: 'workspace_mcp_integrations',
});

export const integrationChanging: ResourceWriter<mcpIntegrations.StoredMcpIntegration> = {
  kind: 'McpIntegration',
  param: 'mcpIntegrationId',
  lock: mcpIntegrations.findByIdOrSlugForUpdate,
  write: mcpIntegrations.update,
  admit: mcpScopes.require,
};

export const serverChanging: ResourceWriter<mcpServers.StoredMcpServer> = {
  kind: 'McpServer',
  param: 'mcpServerId',
  lock: mcpServers.findByIdOrSlugForUpdate,
  write: mcpServers.update,
};

/** The integration named by the path, in the workspace that the request names, if any. */
export async function findIntegration(
  db: Db,
  { caller, params }: PathRequest,
  workspace: string | null | undefined,
  action = 'read',
): Promise<mcpIntegrations.StoredMcpIntegration> {
  const { organisationId } = caller;
  const finding = mcpIntegrations.findByIdOrSlug(db, organisationId, params.mcpIntegrationId!);
  const row = await findIn(db, caller, workspace, finding);
  mcpScopes.require(caller, row, action);
  return row;
}

/** The server named by the path, in the workspace that the request names, if any. */
export function findServer(
  db: Db,
  { caller, params }: PathRequest,
  workspace: string | null | undefined,
  find = mcpServers.findByIdOrSlug,
): Promise<mcpServers.StoredMcpServer> {
  const finding = find(db, caller.organisationId, params.mcpServerId!);
  return findIn(db, caller, workspace, finding);
}

/** Active workspaces that may use the integration. */
export async function listGranted(
  tx: Db,
  integration: mcpIntegrations.StoredMcpIntegration,
): Promise<string[]> {
  const { organisation_id: organisationId, id, workspace_id: own } = integration;
  if (own !== null) return [own];
  const grants = await mcpIntegrationWorkspaces.listByIntegration(tx, organisationId, id);
  const grantOf = new Map(grants.map((grant) => [grant.workspace_id, grant]));
  const all = await workspaces.listAllForOrganisation(tx, organisationId);
  return all
    .filter(({ id, status }) => status === 'active' && isGranted(integration, grantOf.get(id), id))
    .map(({ id }) => id);
}

/**
 * Requires the integration to be open to the workspace and locks the grant until the transaction ends.
 *
 * @throws ApiError `forbidden`
 */
export async function requireGranted(
  tx: Db,
  integration: mcpIntegrations.StoredMcpIntegration,
  workspaceId: string,
  param: string,
): Promise<void> {
  const { organisation_id: organisationId, id, slug } = integration;
  const grant = await mcpIntegrationWorkspaces.findForShare(tx, organisationId, id, workspaceId);
  if (isGranted(integration, grant, workspaceId)) return;
  const message = `User not allowed to access the resource: the MCP integration ${slug} is not open to this workspace`;
  throw new ApiError('forbidden', message, param);
}
