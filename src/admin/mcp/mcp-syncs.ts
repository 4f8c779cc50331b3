/** Knows over HTTP how MCP servers are asked whether they answer, and what they offer (docs/reference/resources.md, MCP integrations). */
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
import { type Asked, ask, keep } from './mcp-discovery.ts';
import { toShortMetadata } from './mcp-metadata-record.ts';

const place = { workspace_id: updateFields.workspace_id };
const TestBody = z.object(place);
const IntegrationSyncBody = McpIntegrationSync.extend(place);
const CapabilitiesSyncBody = McpCapabilitiesSync.extend(place);
const MetadataSyncBody = McpServerFacts.extend(place);

const TestAnswer = z.object({
  success: z.boolean(),
  /** Of HTTP; null where the server did not answer. */
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

type Placed = { readonly workspace_id?: string | null | undefined };

export function mcpSyncRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount, method: 'POST', isRepeatable: true } as const;
  const testing = { ...shared, body: TestBody, response: TestAnswer } as const;
  const syncing = { ...shared, bodyLimits: documentBodyLimits, response: SyncAnswer } as const;
  const integration = '/mcp-integrations/:mcpIntegrationId';
  const server = '/mcp-servers/:mcpServerId';
  return [
    route({
      ...{ ...testing, path: `${integration}/test`, scope: mcpScopes.either('read') },
      summary: 'Ask the server of an MCP integration who it is, and keep nothing',
      handle: async (request) => test(deps, request, await integrationOf(deps, request, 'read')),
    }),
    route({
      ...{ ...syncing, path: `${integration}/sync`, scope: mcpScopes.either('update') },
      summary: 'Ask the server of an MCP integration what it offers, or take it from the body',
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
      ...{ ...testing, path: `${server}/test`, scope: 'mcp_servers.read' },
      summary: 'Ask an MCP server who it is, as the caller, and keep nothing',
      handle: async (request) => test(deps, request, await serverOf(deps, request)),
    }),
    route({
      ...{ ...syncing, path: `${server}/capabilities/sync`, scope: 'mcp_servers.update' },
      summary: 'Ask an MCP server what it offers, or take it from the body',
      body: CapabilitiesSyncBody,
      handle: async (request) => {
        const found = readPushedDiscovery(request.body);
        return sync(deps, request, await serverOf(deps, request, found !== undefined), found);
      },
    }),
    route({
      ...{ ...syncing, path: `${server}/metadata/sync`, scope: 'mcp_servers.update' },
      summary: 'Ask an MCP server who it is and what it offers, or take who it is from the body',
      body: MetadataSyncBody,
      handle: async (request) => {
        const { workspace_id: _, ...facts } = request.body;
        const found = Object.keys(facts).length === 0 ? undefined : { server: facts };
        return sync(deps, request, await serverOf(deps, request, found !== undefined), found);
      },
    }),
  ];
}

async function integrationOf(
  deps: AdminDeps,
  request: BodyRequest<Placed>,
  action: string,
): Promise<Asked> {
  const db = deps.database.readable;
  const integration = await findIntegration(db, request, request.body.workspace_id, action);
  return { integration, server: null };
}

/** What a client says itself of an integration, for all who use it, asks for the right to change that. */
async function serverOf(
  deps: AdminDeps,
  request: BodyRequest<Placed>,
  isPushed = false,
): Promise<Asked> {
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
  asked: Asked,
): Promise<z.infer<typeof TestAnswer>> {
  const begunMs = performance.now();
  const outcome = await ask(deps, request, asked, false);
  const shared = {
    response_time_ms: Math.round(performance.now() - begunMs),
    url: asked.integration.url,
  };
  if ('error' in outcome) {
    const { error, status } = outcome;
    return { ...shared, success: false, status_code: status, server_name: '', error };
  }
  const { server, status } = outcome.found;
  const server_name = server.server_name ?? '';
  return { ...shared, success: true, status_code: status, server_name, error: null };
}

async function sync(
  deps: AdminDeps,
  request: AdminRequest,
  asked: Asked,
  pushed: Partial<McpDiscovery> | undefined,
): Promise<z.infer<typeof SyncAnswer>> {
  const outcome = pushed === undefined ? await ask(deps, request, asked, true) : { found: pushed };
  const { integration } = asked;
  const fault = await keep(deps, request, integration, outcome);
  const { organisation_id: organisationId, id } = integration;
  const db = deps.database.readable;
  const row = await mcpMetadata.find(db, organisationId, id);
  return {
    success: fault === null,
    sync_status: toShortMetadata(row).sync_status,
    sync_error: fault,
    last_synced_at: formatTimestampOrNull(row?.last_synced_at ?? null),
    counts: toCounts(await mcpCapabilities.listCounts(db, organisationId, id)),
    object: 'mcp-sync',
  };
}
