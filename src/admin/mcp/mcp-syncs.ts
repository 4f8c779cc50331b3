/**
 * HTTP routes that test MCP servers and refresh their capabilities (docs/reference/resources.md, MCP
 * integrations).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import {
  McpCapabilitiesSync,
  type McpDiscovery,
  McpIntegrationSync,
  McpServerFacts,
  readPushedDiscovery,
} from '../../model/mcp/mcp-discovery.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestampOrNull, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpMetadata from '../../store/mcp/mcp-metadata.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { type BodyRequest, updateFields } from '../request/frame-fields.ts';
import { findIntegration, findServer, mcpScopes, requireGranted } from './mcp-access.ts';
import { CapabilityCounts, toCounts } from './mcp-capability-counts.ts';
import { type DiscoveryTarget, discover, storeDiscovery } from './mcp-discovery.ts';
import { mcpMetadataToShortMetadata } from './mcp-metadata-record.ts';

const place = { workspace_id: updateFields.workspace_id };
const TestBody = z.object(place);
const IntegrationSyncBody = McpIntegrationSync.extend(place);
const CapabilitiesSyncBody = McpCapabilitiesSync.extend(place);
const MetadataSyncBody = McpServerFacts.extend(place);

const TestAnswer = z.object({
  success: z.boolean(),
  /** HTTP status; null when the server did not respond. */
  status_code: z.int().nullable(),
  response_time_ms: z.int().min(0),
  url: z.string(),
  server_name: z.string(),
  error: z.string().nullable(),
});
const SyncAnswer = z.object({
  success: z.boolean(),
  sync_status: z.enum(['pending', 'synced', 'failed']),
  sync_error: z.string().nullable(),
  last_synced_at: ResponseTimestamp.nullable(),
  counts: CapabilityCounts,
  object: z.literal('mcp-sync'),
});

type WorkspaceField = { readonly workspace_id?: string | null | undefined };

export function mcpSyncRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount, method: 'POST', isRepeatable: true } as const;
  const testing = { ...shared, body: TestBody, response: TestAnswer } as const;
  const syncing = { ...shared, bodyLimits: documentBodyLimits, response: SyncAnswer } as const;
  const integration = '/mcp-integrations/:mcpIntegrationId';
  const server = '/mcp-servers/:mcpServerId';
  return [
    route({
      ...testing,
      path: `${integration}/test`,
      scope: mcpScopes.either('read'),
      summary: 'Test the connection to the server of an MCP integration; nothing is stored',
      handle: async (request) => test(deps, request, await integrationOf(deps, request, 'read')),
    }),
    route({
      ...syncing,
      path: `${integration}/sync`,
      scope: mcpScopes.either('update'),
      summary: 'Refresh the capabilities of an MCP integration from its server, or from the body',
      body: IntegrationSyncBody,
      handle: async (request) =>
        sync(
          deps,
          request,
          await integrationOf(deps, request, 'update'),
          readPushedDiscovery(request.body),
        ),
    }),
    route({
      ...testing,
      path: `${server}/test`,
      scope: 'mcp_servers.read',
      summary: "Test the connection to an MCP server with the caller's tokens; nothing is stored",
      handle: async (request) => test(deps, request, await serverOf(deps, request)),
    }),
    route({
      ...syncing,
      path: `${server}/capabilities/sync`,
      scope: 'mcp_servers.update',
      summary: 'Refresh the capabilities of an MCP server from the server, or from the body',
      body: CapabilitiesSyncBody,
      handle: async (request) => {
        const pushed = readPushedDiscovery(request.body);
        return sync(deps, request, await serverOf(deps, request, pushed !== undefined), pushed);
      },
    }),
    route({
      ...syncing,
      path: `${server}/metadata/sync`,
      scope: 'mcp_servers.update',
      summary:
        'Refresh metadata and capabilities of an MCP server, or take its metadata from the body',
      body: MetadataSyncBody,
      handle: async (request) => {
        const { workspace_id: _, ...facts } = request.body;
        const pushed = Object.keys(facts).length === 0 ? undefined : { server: facts };
        return sync(deps, request, await serverOf(deps, request, pushed !== undefined), pushed);
      },
    }),
  ];
}

async function integrationOf(
  deps: AdminDeps,
  request: BodyRequest<WorkspaceField>,
  action: string,
): Promise<DiscoveryTarget> {
  const db = deps.database.readable;
  const integration = await findIntegration(db, request, request.body.workspace_id, action);
  return { integration, server: null };
}

/**
 * Data that a client pushes applies to all users of the integration, so it needs the scope to update it.
 */
async function serverOf(
  deps: AdminDeps,
  request: BodyRequest<WorkspaceField>,
  isPushed = false,
): Promise<DiscoveryTarget> {
  const { caller, body } = request;
  const db = deps.database.readable;
  const server = await findServer(db, request, body.workspace_id);
  const { organisationId } = caller;
  const id = server.mcp_integration_id;
  const integration = await mcpIntegrations.findByIdOrSlug(db, organisationId, id);
  if (integration === undefined) throw new ApiError('notFound');
  if (isPushed) mcpScopes.require(caller, integration, 'update');
  await requireGranted(db, integration, server.workspace_id, 'mcpServerId');
  return { integration, server };
}

async function test(
  deps: AdminDeps,
  request: AdminRequest,
  target: DiscoveryTarget,
): Promise<z.infer<typeof TestAnswer>> {
  const startedMs = performance.now();
  const outcome = await discover(deps, request, target, false);
  const shared = {
    response_time_ms: Math.round(performance.now() - startedMs),
    url: target.integration.url,
  };
  if ('error' in outcome) {
    const { error, status } = outcome;
    return { ...shared, success: false, status_code: status, server_name: '', error };
  }
  const { server, status } = outcome.discovery;
  const server_name = server.server_name ?? '';
  return { ...shared, success: true, status_code: status, server_name, error: null };
}

async function sync(
  deps: AdminDeps,
  request: AdminRequest,
  target: DiscoveryTarget,
  pushed: Partial<McpDiscovery> | undefined,
): Promise<z.infer<typeof SyncAnswer>> {
  const outcome =
    pushed === undefined ? await discover(deps, request, target, true) : { discovery: pushed };
  const { integration } = target;
  const fault = await storeDiscovery(deps, request, integration, outcome);
  const { organisation_id: organisationId, id } = integration;
  const db = deps.database.readable;
  const row = await mcpMetadata.find(db, organisationId, id);
  return {
    success: fault === null,
    sync_status: mcpMetadataToShortMetadata(row).sync_status,
    sync_error: fault,
    last_synced_at: formatTimestampOrNull(row?.last_synced_at ?? null),
    counts: toCounts(await mcpCapabilities.listCounts(db, organisationId, id)),
    object: 'mcp-sync',
  };
}
