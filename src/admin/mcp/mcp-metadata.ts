/** HTTP routes for the metadata of MCP servers (docs/reference/resources.md, MCP integrations). */

import type { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import * as mcpMetadata from '../../store/mcp/mcp-metadata.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { WorkspaceQuery } from '../request/frame-fields.ts';
import { findIntegration, findServer, mcpScopes } from './mcp-access.ts';
import { toCounts } from './mcp-capability-counts.ts';
import { McpMetadata, mcpMetadataToMetadata } from './mcp-metadata-record.ts';

export function mcpMetadataRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount, method: 'GET', response: McpMetadata } as const;
  const db = deps.database.readable;
  return [
    route({
      ...shared,
      path: '/mcp-integrations/:mcpIntegrationId/metadata',
      scope: mcpScopes.either('read'),
      summary: 'Get the metadata of the server of an MCP integration',
      query: WorkspaceQuery,
      handle: async (request) => {
        const row = await findIntegration(db, request, request.query.workspace_id);
        return describe(db, row.organisation_id, row.id);
      },
    }),
    route({
      ...shared,
      path: '/mcp-servers/:mcpServerId/metadata',
      scope: 'mcp_servers.read',
      summary: 'Get the metadata of an MCP server',
      query: WorkspaceQuery,
      handle: async (request) => {
        const row = await findServer(db, request, request.query.workspace_id);
        return describe(db, row.organisation_id, row.mcp_integration_id);
      },
    }),
  ];
}

async function describe(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<z.infer<typeof McpMetadata>> {
  const row = await mcpMetadata.find(db, organisationId, integrationId);
  const counts = toCounts(await mcpCapabilities.listCounts(db, organisationId, integrationId));
  return mcpMetadataToMetadata(row, counts);
}
