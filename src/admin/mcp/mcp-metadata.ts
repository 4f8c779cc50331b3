/** Knows what is known of the MCP server behind an integration, over HTTP (docs/api.md, MCP integrations). */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { AnsweredTimestamp } from '../../model/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/tables/mcp-capabilities.ts';
import * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import * as mcpServers from '../../store/tables/mcp-servers.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { WorkspaceQuery } from '../request/frame-fields.ts';
import { requireWorkspace } from '../request/scoping.ts';
import { findIntegration, findServer, mcpScopes } from './mcp-access.ts';
import { toCounts } from './mcp-capability-counts.ts';

/**
 * Nobody has asked the server yet (integrations are saved without a connection), so most is null, or
 * '' where clients insist on text.
 */
const Metadata = z.object({
  server_name: z.string(),
  server_version: z.string(),
  title: z.string().nullable(),
  description: z.string().nullable(),
  website_url: z.string().nullable(),
  icons: z.array(z.unknown()).nullable(),
  protocol_version: z.string().nullable(),
  /** By the capabilities an administrator has named. */
  capability_flags: z.object({ tools: z.boolean(), prompts: z.boolean(), resources: z.boolean() }),
  instructions: z.string().nullable(),
  sync_status: z.literal('pending'),
  last_synced_at: AnsweredTimestamp.nullable(),
  sync_error: z.string().nullable(),
  object: z.literal('mcp-metadata'),
});

export function mcpMetadataRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount, method: 'GET', response: Metadata } as const;
  const db = deps.database.readable;
  return [
    route({
      ...shared,
      path: '/mcp-integrations/:mcpIntegrationId/metadata',
      scope: mcpScopes.either('read'),
      summary: 'Get what is known of the server of an MCP integration',
      query: WorkspaceQuery,
      handle: async (request) => {
        const row = await findIntegration(db, request, mcpIntegrations.findByIdOrSlug);
        await requireWorkspace(db, request.caller, row, request.query.workspace_id);
        mcpScopes.require(request.caller, row, 'read');
        return describe(db, row.organisation_id, row.id);
      },
    }),
    route({
      ...shared,
      path: '/mcp-servers/:mcpServerId/metadata',
      scope: 'mcp_servers.read',
      summary: 'Get what is known of an MCP server',
      query: WorkspaceQuery,
      handle: async (request) => {
        const row = await findServer(db, request, mcpServers.findByIdOrSlug);
        await requireWorkspace(db, request.caller, row, request.query.workspace_id);
        return describe(db, row.organisation_id, row.mcp_integration_id);
      },
    }),
  ];
}

async function describe(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<z.infer<typeof Metadata>> {
  const counts = toCounts(await mcpCapabilities.listCounts(db, organisationId, integrationId));
  return {
    server_name: '',
    server_version: '',
    title: null,
    description: null,
    website_url: null,
    icons: null,
    protocol_version: null,
    capability_flags: {
      tools: counts.tools.total > 0,
      prompts: counts.prompts.total > 0,
      resources: counts.resources.total > 0,
    },
    instructions: null,
    sync_status: 'pending',
    last_synced_at: null,
    sync_error: null,
    object: 'mcp-metadata',
  };
}
