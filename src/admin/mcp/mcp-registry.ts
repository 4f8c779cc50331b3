/**
 * HTTP route that lists the caller's MCP servers in the format of the MCP registry
 * (docs/reference/resources.md, MCP registry).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import type { McpServerFacts } from '../../model/mcp/mcp-discovery.ts';
import { isGranted } from '../../model/providers/integration-access.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { wholeNumberParameter } from '../../model/wire/paging.ts';
import {
  formatTimestamp,
  parseTimestamp,
  ResponseTimestamp,
  Timestamp,
} from '../../model/wire/timestamp.ts';
import * as mcpIntegrationWorkspaces from '../../store/mcp/mcp-integration-workspaces.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpMetadata from '../../store/mcp/mcp-metadata.ts';
import * as serverUsers from '../../store/mcp/mcp-server-users.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import type { AdminDeps } from '../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../request/frame-fields.ts';
import { resolveWorkspace } from '../request/scoping.ts';

/** JSON schema of the entries. */
const schemaUrl = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const official = 'io.modelcontextprotocol.registry/official';
const descriptionLengthMax = 100;
/** Version of a server that has reported none. */
const versionUnknown = '0.0.0';

const ListQuery = WorkspaceQuery.extend({
  limit: wholeNumberParameter(1, 100).default(50),
  /** `nextCursor` of the previous page. */
  cursor: z.uuid().optional(),
  search: z.string().max(255).optional(),
  updated_since: Timestamp.optional(),
});

const Entry = z.object({
  server: z.object({
    $schema: z.string(),
    name: z.string(),
    title: z.string(),
    description: z.string(),
    version: z.string(),
    websiteUrl: z.string().optional(),
    remotes: z.array(z.object({ type: z.literal('streamable-http'), url: z.string() })),
  }),
  _meta: z.object({
    [official]: z.object({
      status: z.literal('active'),
      publishedAt: ResponseTimestamp,
      updatedAt: ResponseTimestamp,
      isLatest: z.literal(true),
    }),
  }),
});
const EntryList = z.object({
  servers: z.array(Entry),
  metadata: z.object({ count: z.int().min(0), nextCursor: z.string().optional() }),
});

export function mcpRegistryRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: { root: ['access-token', 'api-key', 'bearer-key'] },
      method: 'GET',
      path: '/v0.1/servers',
      scope: 'mcp_servers.list',
      summary: 'List the MCP servers that the caller may use, in the format of the MCP registry',
      query: ListQuery,
      response: EntryList,
      handle: (request) => list(deps, request),
    }),
  ];
}

async function list(
  deps: AdminDeps,
  { caller, query }: QueryRequest<z.infer<typeof ListQuery>>,
): Promise<z.infer<typeof EntryList>> {
  const db = deps.database.readable;
  const { organisationId } = caller;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const { limit, cursor, search, updated_since: since } = query;
  const filter = {
    workspaceId: workspace?.id,
    search: search === '' ? undefined : search,
    changedAfter: since === undefined ? undefined : parseTimestamp(since),
    before: cursor?.toLowerCase(),
  };
  // One row more than the page shows whether there is a further page.
  const rows = await mcpServers.listBefore(db, organisationId, filter, limit + 1);
  const page = rows.slice(0, limit);
  const servers = await entriesOf(deps, caller, page);
  const next = rows.length > limit ? page.at(-1)!.id : undefined;
  const metadata = { count: servers.length, ...(next !== undefined && { nextCursor: next }) };
  return { servers, metadata };
}

/** Entries of servers that the caller may use; a page may be shorter than requested. */
async function entriesOf(
  { database, mcpUrl }: AdminDeps,
  caller: Principal,
  rows: readonly mcpServers.StoredMcpServer[],
): Promise<z.infer<typeof Entry>[]> {
  const db = database.readable;
  const { organisationId } = caller;
  const integrationIds = [...new Set(rows.map((row) => row.mcp_integration_id))];
  const places = [...new Set(rows.map((row) => row.workspace_id))];
  const userId = caller.person?.userId ?? null;
  const serverIds = rows.map(({ id }) => id);
  const overrides =
    userId === null ? null : await serverUsers.listByUser(db, organisationId, userId, serverIds);
  const integrations = await mcpIntegrations.listByIds(db, organisationId, integrationIds);
  const { listBetween } = mcpIntegrationWorkspaces;
  const grants = await listBetween(db, organisationId, integrationIds, places);
  const metadata = await mcpMetadata.listByIntegrations(db, organisationId, integrationIds);
  return rows.flatMap((row) => {
    const integration = integrations.find(({ id }) => id === row.mcp_integration_id);
    const grant = grants.find(
      (one) =>
        one.mcp_integration_id === row.mcp_integration_id && one.workspace_id === row.workspace_id,
    );
    const isOpen =
      overrides === null || (overrides.get(row.id) ?? row.default_user_access !== 'deny');
    if (integration === undefined || !isOpen) return [];
    if (!isGranted(integration, grant, row.workspace_id)) return [];
    const facts = metadata.find((one) => one.mcp_integration_id === integration.id)?.facts ?? null;
    return [toEntry(row, mcpUrl, readDocument<McpServerFacts>(facts) ?? {})];
  });
}

function toEntry(
  row: mcpServers.StoredMcpServer,
  mcpUrl: string | null,
  facts: McpServerFacts,
): z.infer<typeof Entry> {
  const description = row.description || facts.description || row.name;
  return {
    server: {
      $schema: schemaUrl,
      name: `gatewright/${row.slug}`,
      title: row.name,
      description: [...description].slice(0, descriptionLengthMax).join(''),
      version: facts.server_version || versionUnknown,
      ...(facts.website_url && { websiteUrl: facts.website_url }),
      remotes:
        mcpUrl === null ? [] : [{ type: 'streamable-http', url: `${mcpUrl}/${row.slug}/mcp` }],
    },
    _meta: {
      [official]: {
        status: 'active',
        publishedAt: formatTimestamp(row.created_at),
        updatedAt: formatTimestamp(row.last_updated_at),
        isLatest: true,
      },
    },
  };
}
