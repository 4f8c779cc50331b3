/** Queries MCP servers for their metadata and capabilities and stores the result. */
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
import { requireCapacity, storeDiscovered } from './mcp-capability-changes.ts';
import { storeDefinitions } from './mcp-definition-changes.ts';

type DiscoveryRequest = Pick<AdminRequest, 'caller' | 'now' | 'requestId'>;

/** The integration to query, and the server through which it is queried. */
export interface DiscoveryTarget {
  readonly integration: mcpIntegrations.StoredMcpIntegration;
  /** Null for a query of the integration itself. */
  readonly server: StoredMcpServer | null;
}

/** Result of a query. */
export type DiscoveryOutcome =
  | { readonly discovery: McpDiscovery & { readonly status: number | null } }
  | { readonly error: string; readonly status: number | null };

/** Queries the server with the caller's tokens. */
export async function discover(
  deps: AdminDeps,
  request: DiscoveryRequest,
  { integration, server }: DiscoveryTarget,
  wantsLists: boolean,
): Promise<DiscoveryOutcome> {
  const workspaceId = server?.workspace_id ?? integration.workspace_id;
  const accessToken = server === null ? null : await accessTokenOf(deps, request, server);
  try {
    const query = { integration, workspaceId, accessToken, wantsLists };
    return { discovery: await deps.mcp.explore(query) };
  } catch (error) {
    if (!(error instanceof McpUnreachableError)) throw error;
    return { error: error.message, status: error.status };
  }
}

async function accessTokenOf(
  deps: AdminDeps,
  { caller }: DiscoveryRequest,
  server: StoredMcpServer,
): Promise<string | null> {
  const db = deps.database.readable;
  const { organisation_id, id: mcp_server_id } = server;
  const user_id = caller.person?.userId ?? caller.id;
  const stored = await mcpConnections.find(db, { organisation_id, mcp_server_id, user_id });
  if (stored === undefined) return null;
  const unsealer = await deps.keyring.unsealerOf(organisation_id);
  return unsealer.unseal(stored.access_token, connectionContext(stored, 'access_token'));
}

/**
 * Stores the result unless the integration has changed meanwhile; returns the reason for not storing it, or
 * null.
 */
export async function storeDiscovery(
  deps: AdminDeps,
  request: DiscoveryRequest,
  queried: mcpIntegrations.StoredMcpIntegration,
  outcome: DiscoveryOutcome | { readonly discovery: Partial<McpDiscovery> },
): Promise<string | null> {
  return deps.database.transaction(async (tx) => {
    const { organisation_id: organisationId, id } = queried;
    const row = await mcpIntegrations.findByIdOrSlugForUpdate(tx, organisationId, id);
    if (row === undefined) throw new ApiError('notFound');
    if (!isDeepStrictEqual(reachOf(row), reachOf(queried))) {
      return 'the integration was changed while its server was queried; try again';
    }
    const at = { organisation_id: organisationId, mcp_integration_id: id };
    if ('error' in outcome) {
      await mcpMetadata.putFailure(tx, at, outcome.error);
      return outcome.error;
    }
    return storeIn(tx, deps, request, row, outcome.discovery);
  });
}

async function storeIn(
  tx: Db,
  deps: AdminDeps,
  request: DiscoveryRequest,
  row: mcpIntegrations.StoredMcpIntegration,
  { server, capabilities = null }: Partial<McpDiscovery>,
): Promise<null> {
  const { organisation_id, id, workspace_id: workspaceId } = row;
  let definitions: Record<string, unknown> | undefined;
  if (capabilities !== null) {
    await storeDiscovered(tx, row, capabilities, request.now);
    const counts = await mcpCapabilities.listCounts(tx, organisation_id, id);
    requireCapacity(counts.reduce((sum, { total }) => sum + total, 0));
    definitions = await storeDefinitions(tx, row, capabilities, request.now);
  }
  const before = await mcpMetadata.find(tx, organisation_id, id);
  const facts: McpServerFacts = server ?? readDocument<McpServerFacts>(before?.facts ?? null) ?? {};
  await mcpMetadata.put(tx, {
    organisation_id,
    mcp_integration_id: id,
    facts: writeDocument(facts),
    sync_status: 'synced',
    sync_error: null,
    last_synced_at: request.now,
  });
  await auditChange(tx, deps, request, {
    action: 'update',
    kind: 'McpIntegration',
    resourceId: id,
    workspaceId,
    changes: {
      synced: true,
      ...(capabilities && { capabilities: capabilities.length }),
      ...(definitions && { definitions }),
    },
  });
  return null;
}

/** All columns that determine which server is queried, and with what. */
function reachOf(row: mcpIntegrations.StoredMcpIntegration) {
  const { url, transport, configurations, secret_mappings } = row;
  return { url, transport, configurations, secret_mappings };
}
