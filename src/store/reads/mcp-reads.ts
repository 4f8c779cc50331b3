/** Reads what the MCP gateway needs of a server: its integration, access, capabilities and guardrails. */
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { Db } from '../connection/db.ts';
import * as mcpCapabilities from '../mcp/mcp-capabilities.ts';
import * as mcpDefinitions from '../mcp/mcp-definitions.ts';
import * as mcpIntegrationWorkspaces from '../mcp/mcp-integration-workspaces.ts';
import * as mcpIntegrations from '../mcp/mcp-integrations.ts';
import * as mcpServerCapabilities from '../mcp/mcp-server-capabilities.ts';
import * as mcpServerUsers from '../mcp/mcp-server-users.ts';
import * as mcpServers from '../mcp/mcp-servers.ts';
import * as guardrailMappings from '../resources/guardrail-mappings.ts';
import * as guardrails from '../resources/guardrails.ts';
import { listGenerations } from '../rows/snapshot-marks.ts';

export interface McpServerReading {
  /** The organisation's generation before the read, so that it is never newer than the rows. */
  readonly generation: string;
  readonly server: mcpServers.StoredMcpServer;
  readonly integration: mcpIntegrations.StoredMcpIntegration;
  /** Access of the server's workspace to the integration; undefined without a row. */
  readonly grant: { readonly enabled: number } | undefined;
  readonly users: readonly mcpServerUsers.StoredMcpServerUser[];
  readonly capabilities: readonly mcpCapabilities.CapabilityAddress[];
  /** Approved and newest definitions; empty before the first sync. */
  readonly definitions: readonly mcpDefinitions.DefinitionDigests[];
  /** The server's own settings. */
  readonly ownCapabilities: readonly {
    readonly type: McpCapabilityType;
    readonly name: string;
    readonly enabled: number;
  }[];
  readonly mappings: readonly guardrailMappings.StoredGuardrailMapping[];
  /** Guardrails of the mappings. */
  readonly guardrails: readonly guardrails.StoredGuardrail[];
}

/** Undefined when there is no such server, or its integration is gone. */
export async function findMcpServer(
  db: Db,
  organisationId: string,
  slug: string,
): Promise<McpServerReading | undefined> {
  const generations = await listGenerations(db, [organisationId]);
  const server = await mcpServers.findByIdOrSlug(db, organisationId, slug);
  if (server === undefined || server.slug !== slug) return undefined;
  const { id, mcp_integration_id: integrationId, workspace_id: workspaceId } = server;
  const integration = await mcpIntegrations.findByIdOrSlug(db, organisationId, integrationId);
  if (integration === undefined) return undefined;
  const [grant] = await mcpIntegrationWorkspaces.listBetween(
    db,
    organisationId,
    [integrationId],
    [workspaceId],
  );
  const mappings = await guardrailMappings.listByServer(db, organisationId, id);
  const guardrailIds = [...new Set(mappings.map((mapping) => mapping.guardrail_id))];
  return {
    generation: generations.get(organisationId)!,
    server,
    integration,
    grant,
    users: await mcpServerUsers.listByServer(db, organisationId, id),
    capabilities: await mcpCapabilities.listAddresses(db, organisationId, integrationId),
    definitions:
      integration.definitions_from === null
        ? []
        : await mcpDefinitions.listDigests(db, { organisationId, integrationId }),
    ownCapabilities: await mcpServerCapabilities.listByServer(db, organisationId, id),
    mappings,
    guardrails:
      guardrailIds.length === 0 ? [] : await guardrails.listByIds(db, organisationId, guardrailIds),
  };
}
