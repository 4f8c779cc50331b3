/** Joins what a snapshot holds of an MCP server as store/reads/mcp-reads.ts reads it from the database. */
import type { CapabilityAddress } from '../mcp/mcp-capabilities.ts';
import { isServerUsable, type McpServerReading, mcpDefaults } from './mcp-reads.ts';
import {
  defaultsIn,
  exclusionIn,
  findActiveWorkspaceIn,
  findByReference,
  secretReferencesIn,
} from './snapshot-joins.ts';
import type { SnapshotRow } from './snapshot-tables.ts';
import type { OrganisationView } from './snapshot-view.ts';

export function findMcpServerIn(
  view: OrganisationView,
  slug: string,
  callerWorkspaceId: string | null,
): McpServerReading | undefined {
  const server = findByReference(view, 'mcp_servers', slug);
  if (server === undefined) return undefined;
  const integration = findByReference(view, 'mcp_integrations', server.mcp_integration_id);
  if (integration === undefined) return undefined;
  const { workspace_id: workspaceId } = server;
  const grant = view
    .rows('mcp_integration_workspaces', 'mcp_integration_id', integration.id)
    .find((row) => row.workspace_id === workspaceId);
  if (!isServerUsable({ server, integration, grant }, slug, callerWorkspaceId)) return undefined;
  const mappings = view.rows('guardrail_mcp_mappings', 'mcp_server_id', server.id);
  const defaults = mcpDefaults(
    defaultsIn(view),
    exclusionIn(view, workspaceId),
    findActiveWorkspaceIn(view, workspaceId),
  );
  const named = new Set([
    ...mappings.map((mapping) => mapping.guardrail_id),
    ...defaults.input,
    ...defaults.output,
  ]);
  return {
    generation: view.generation,
    server,
    integration,
    grant,
    users: view.rows('mcp_server_users', 'mcp_server_id', server.id),
    capabilities: view
      .rows('mcp_capabilities', 'mcp_integration_id', integration.id)
      .map(addressOf),
    definitions:
      integration.definitions_from === null
        ? []
        : view
            .rows('mcp_definitions', 'mcp_integration_id', integration.id)
            .map((row) => ({ ...row, name: row.name.toString() })),
    ownCapabilities: view
      .rows('mcp_server_capabilities', 'mcp_server_id', server.id)
      .map((row) => ({ ...row, name: row.name.toString() })),
    mappings,
    defaults,
    guardrails: [...named]
      .map((reference) => findByReference(view, 'guardrails', reference))
      .filter((row) => row !== undefined),
    references: secretReferencesIn(view, integration.secret_mappings),
  };
}

/** As the expressions of `listAddresses` in store/mcp/mcp-capabilities.ts. */
function addressOf({
  id,
  type,
  name,
  enabled,
  facts,
}: SnapshotRow<'mcp_capabilities'>): CapabilityAddress {
  const parsed = JSON.parse(facts ?? '{}') as Readonly<Record<string, unknown>>;
  return {
    id,
    type,
    name: name.toString(),
    enabled,
    uri: textOf(parsed.uri),
    uri_template: textOf(parsed.uri_template),
    facts: type === 'tool' && facts?.includes('x-mcp-header') === true ? facts : null,
  };
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null || value === 'null') return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
