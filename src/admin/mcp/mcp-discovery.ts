/** Knows how what an MCP server says of itself is found out, or taken from a client, and kept. */
import { isDeepStrictEqual } from 'node:util';
import { connectionContext } from '../../auth/mcp-secrets.ts';
import {
  type McpDiscovery,
  type McpServerFacts,
  McpUnreachableError,
} from '../../model/mcp/mcp-discovery.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { readDocument, writeDocument } from '../../model/wire/json-record.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpMetadata from '../../store/mcp/mcp-metadata.ts';
import type { StoredMcpServer } from '../../store/mcp/mcp-servers.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { keepFound, requireRoom } from './mcp-capability-changes.ts';

type Asking = Pick<AdminRequest, 'caller' | 'now' | 'requestId'>;

/** Whose server is asked, and as whom. */
export interface Asked {
  readonly integration: mcpIntegrations.StoredMcpIntegration;
  /** Null where the integration itself is asked about. */
  readonly server: StoredMcpServer | null;
}

/** What came of asking a server. */
export type Outcome =
  | { readonly found: McpDiscovery & { readonly status: number | null } }
  | { readonly error: string; readonly status: number | null };

/** Asks, with the tokens that the caller has for the server. */
export async function ask(
  deps: AdminDeps,
  request: Asking,
  { integration, server }: Asked,
  wantsLists: boolean,
): Promise<Outcome> {
  const workspaceId = server?.workspace_id ?? integration.workspace_id;
  const accessToken = server === null ? null : await accessTokenOf(deps, request, server);
  try {
    const asked = { integration, workspaceId, accessToken, wantsLists };
    return { found: await deps.mcp.explore(asked) };
  } catch (error) {
    if (!(error instanceof McpUnreachableError)) throw error;
    return { error: error.message, status: error.status };
  }
}

async function accessTokenOf(
  deps: AdminDeps,
  { caller }: Asking,
  server: StoredMcpServer,
): Promise<string | null> {
  const db = deps.database.readable;
  const { organisation_id, id: mcp_server_id } = server;
  const user_id = caller.person?.userId ?? caller.id;
  const kept = await mcpConnections.find(db, { organisation_id, mcp_server_id, user_id });
  if (kept === undefined) return null;
  const unsealer = await deps.keyring.unsealerOf(organisation_id);
  return unsealer.unseal(kept.access_token, connectionContext(kept, 'access_token'));
}

/** Keeps it, unless the integration is another by now; yields why it was not kept, or null. */
export async function keep(
  deps: AdminDeps,
  request: Asking,
  asked: mcpIntegrations.StoredMcpIntegration,
  outcome: Outcome | { readonly found: Partial<McpDiscovery> },
): Promise<string | null> {
  return deps.database.transaction(async (tx) => {
    const { organisation_id: organisationId, id } = asked;
    const row = await mcpIntegrations.findByIdOrSlugForUpdate(tx, organisationId, id);
    if (row === undefined) throw new ApiError('notFound');
    if (!isDeepStrictEqual(reachOf(row), reachOf(asked))) {
      return 'the integration was changed while its server was asked; ask again';
    }
    const at = { organisation_id: organisationId, mcp_integration_id: id };
    if ('error' in outcome) {
      await mcpMetadata.putFailure(tx, at, outcome.error);
      return outcome.error;
    }
    return keepIn(tx, deps, request, row, outcome.found);
  });
}

async function keepIn(
  tx: Db,
  deps: AdminDeps,
  request: Asking,
  row: mcpIntegrations.StoredMcpIntegration,
  { server, capabilities = null }: Partial<McpDiscovery>,
): Promise<null> {
  const { organisation_id, id, workspace_id: workspaceId } = row;
  if (capabilities !== null) {
    await keepFound(tx, row, capabilities, request.now);
    const counts = await mcpCapabilities.listCounts(tx, organisation_id, id);
    requireRoom(counts.reduce((sum, { total }) => sum + total, 0));
  }
  const before = await mcpMetadata.find(tx, organisation_id, id);
  const facts: McpServerFacts = server ?? readDocument<McpServerFacts>(before?.facts ?? null) ?? {};
  await mcpMetadata.put(tx, {
    ...{ organisation_id, mcp_integration_id: id, facts: writeDocument(facts) },
    ...{ sync_status: 'synced', sync_error: null, last_synced_at: request.now },
  });
  await auditChange(tx, deps, request, {
    ...{ action: 'update', kind: 'McpIntegration', resourceId: id, workspaceId },
    changes: { synced: true, ...(capabilities && { capabilities: capabilities.length }) },
  });
  return null;
}

/** All that decides whom it asks, and with what. */
function reachOf(row: mcpIntegrations.StoredMcpIntegration) {
  const { url, transport, configurations, secret_mappings } = row;
  return { url, transport, configurations, secret_mappings };
}
