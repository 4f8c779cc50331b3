/** HTTP routes for users' tokens for MCP servers. */
import { z } from 'zod';
import { connectionContext } from '../../auth/mcp-secrets.ts';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { McpTokensPut } from '../../model/mcp/mcp-server.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import { pageQuery, pageReply, pageSchema, toPage } from '../../model/wire/paging.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpOAuthClients from '../../store/mcp/mcp-oauth-clients.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import { auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import {
  type BodyRequest,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { findOr404 } from '../request/scoping.ts';
import { requireVersion, withVersionTag } from '../request/version.ts';
import { findServer } from './mcp-access.ts';
import { readMcpConfigurations } from './mcp-integration-record.ts';

const PutBody = McpTokensPut.extend({ workspace_id: updateFields.workspace_id });
const OfUser = WorkspaceQuery.extend({ user_id: z.uuid().optional() });
const ListQuery = OfUser.extend(pageQuery());

const Connection = z.object({
  user_id: z.uuid(),
  connected: z.literal(true),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
});
/** Tokens are masked. */
const Tokens = z.object({
  connected: z.boolean(),
  access_token: z.string().nullable(),
  refresh_token: z.string().nullable(),
  created_at: ResponseTimestamp.nullable(),
  last_updated_at: ResponseTimestamp.nullable(),
  object: z.literal('mcp-tokens'),
});
const ClientInfo = z.object({
  client_name: z.string(),
  /** Client id that an administrator has registered, else the newest one that the gateway has. */
  client_id: z.string().nullable(),
  url: z.string(),
  auth_type: z.string(),
  transport: z.string(),
  object: z.literal('mcp-client-info'),
});
const Receipt = z.object({ success: z.literal(true) });

/** Version of absent tokens, for ETag and `If-Match`. */
const noTokens = { version: 0 };

export function mcpConnectionRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount } as const;
  const connections = { ...shared, path: '/mcp-servers/:mcpServerId/connections' } as const;
  const tokens = { ...shared, path: '/mcp-servers/:mcpServerId/tokens' } as const;
  return [
    route({
      ...connections,
      method: 'GET',
      scope: 'mcp_servers.read',
      summary: 'List the users who have tokens for an MCP server',
      query: ListQuery,
      response: pageSchema(Connection),
      handle: (request) => list(deps, request),
    }),
    route({
      ...connections,
      method: 'DELETE',
      scope: 'mcp_servers.update',
      summary: 'Delete the tokens of a user, or of the caller, for an MCP server',
      query: OfUser,
      response: Receipt,
      handle: (request) => forget(deps, request, request.query.user_id),
    }),
    route({
      ...tokens,
      method: 'GET',
      scope: ['mcp_servers.read', 'mcp.invoke'],
      summary: "Get the caller's tokens for an MCP server; they are masked",
      query: WorkspaceQuery,
      response: Tokens,
      handle: (request) => getTokens(deps, request),
    }),
    route({
      ...tokens,
      method: 'PUT',
      scope: ['mcp_servers.update', 'mcp.invoke'],
      versioned: true,
      summary: "Store the caller's tokens for an MCP server",
      body: PutBody,
      response: Receipt,
      handle: (request) => putTokens(deps, request),
    }),
    route({
      ...tokens,
      method: 'DELETE',
      scope: ['mcp_servers.update', 'mcp.invoke'],
      summary: "Delete the caller's tokens for an MCP server",
      query: WorkspaceQuery,
      response: Receipt,
      handle: (request) => forget(deps, request, undefined),
    }),
    route({
      ...shared,
      method: 'GET',
      path: '/mcp-servers/:mcpServerId/client-info',
      scope: 'mcp_servers.read',
      summary: 'Get the OAuth client by which the gateway is registered with an MCP server',
      query: WorkspaceQuery,
      response: ClientInfo,
      handle: (request) => clientInfo(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { query } = request;
  const db = deps.database.readable;
  const row = await findServer(db, request, query.workspace_id);
  const page = toPage(query);
  const at = { organisation_id: row.organisation_id, mcp_server_id: row.id };
  const rows = await mcpConnections.list(db, at, query.user_id?.toLowerCase(), page);
  const data = rows.rows.map(({ user_id, created_at, last_updated_at }) => ({
    user_id,
    connected: true as const,
    created_at: formatTimestamp(created_at),
    last_updated_at: formatTimestamp(last_updated_at),
  }));
  return pageReply(data, page, rows);
}

async function forget(
  deps: AdminDeps,
  request: ItemRequest,
  userId: string | undefined,
): Promise<z.infer<typeof Receipt>> {
  await deps.database.transaction(async (tx) => {
    const row = await findServer(tx, request, request.query.workspace_id);
    const key = keyOf(request.caller, row, userId?.toLowerCase());
    await deps.mcpTokens.noteDeletion(tx, key);
    if (!(await mcpConnections.deleteOne(tx, key))) return;
    await auditTokens(tx, deps, request, 'delete', row, key.user_id);
  });
  return { success: true };
}

async function getTokens(deps: AdminDeps, request: ItemRequest) {
  const db = deps.database.readable;
  const row = await findServer(db, request, request.query.workspace_id);
  const stored = await mcpConnections.find(db, keyOf(request.caller, row, undefined));
  const refresh = stored?.refresh_token ?? null;
  const record: z.infer<typeof Tokens> = {
    connected: stored !== undefined,
    access_token: stored === undefined ? null : secretMask,
    refresh_token: refresh === null ? null : secretMask,
    created_at: stored === undefined ? null : formatTimestamp(stored.created_at),
    last_updated_at: stored === undefined ? null : formatTimestamp(stored.last_updated_at),
    object: 'mcp-tokens',
  };
  return withVersionTag(record, stored ?? noTokens);
}

async function putTokens(
  deps: AdminDeps,
  request: BodyRequest<z.infer<typeof PutBody>>,
): Promise<z.infer<typeof Receipt>> {
  const { caller, body, now } = request;
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  await deps.database.transaction(async (tx) => {
    const find = mcpServers.findByIdOrSlugForUpdate;
    const row = await findServer(tx, request, body.workspace_id, find);
    // Serialised with a change of the integration's address, which deletes tokens.
    const { organisation_id: organisationId, mcp_integration_id: integrationId } = row;
    await mcpIntegrations.findByIdOrSlugForShare(tx, organisationId, integrationId);
    const key = keyOf(caller, row, undefined);
    const stored = await mcpConnections.find(tx, key);
    requireVersion(request, (stored ?? noTokens).version);
    const seal = (text: string, column: 'access_token' | 'refresh_token') =>
      sealer.seal(text, connectionContext(key, column));
    const refresh = body.refresh_token ?? null;
    await mcpConnections.put(tx, {
      ...key,
      access_token: seal(body.access_token, 'access_token'),
      refresh_token: refresh === null ? null : seal(refresh, 'refresh_token'),
      oauth_grant: null,
      expires_at: null,
      created_at: now,
      last_updated_at: now,
    });
    await auditTokens(tx, deps, request, 'update', row, key.user_id);
  });
  return { success: true };
}

async function clientInfo(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<z.infer<typeof ClientInfo>> {
  const db = deps.database.readable;
  const row = await findServer(db, request, request.query.workspace_id);
  const { organisation_id: organisationId, mcp_integration_id: id } = row;
  const integration = findOr404(
    { ...request.caller, workspaceId: null },
    await mcpIntegrations.findByIdOrSlug(db, organisationId, id),
  );
  const { oauth_client_id: configured } = readMcpConfigurations(integration) ?? {};
  const registered = await mcpOAuthClients.findNewest(db, organisationId, id);
  const { url, auth_type, transport } = integration;
  return {
    client_name: 'gatewright',
    client_id: configured ?? registered?.client_id ?? null,
    url,
    auth_type,
    transport,
    object: 'mcp-client-info',
  };
}

/** Key of the user's tokens, or of the caller's. A credential without a user has tokens of its own. */
function keyOf(
  caller: Principal,
  { organisation_id, id: mcp_server_id }: mcpServers.StoredMcpServer,
  userId: string | undefined,
): mcpConnections.ConnectionKey {
  const user_id = userId ?? caller.person?.userId ?? caller.id;
  return { organisation_id, mcp_server_id, user_id };
}

async function auditTokens(
  tx: Db,
  deps: AdminDeps,
  request: Pick<AdminRequest, 'caller' | 'now' | 'requestId'>,
  action: 'update' | 'delete',
  { id, workspace_id }: mcpServers.StoredMcpServer,
  userId: string,
): Promise<void> {
  await auditChange(tx, deps, request, {
    action,
    kind: 'McpConnection',
    resourceId: id,
    workspaceId: workspace_id,
    changes: { user_id: userId },
  });
}
