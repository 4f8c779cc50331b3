/** Converts MCP servers to API records and to the body that would create them again. */
import { z } from 'zod';
import {
  DisabledClientCapabilities,
  readClientCapabilities,
} from '../../model/mcp/client-capability.ts';
import { DefinitionPolicy } from '../../model/mcp/definition-state.ts';
import { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { DefaultUserAccess } from '../../model/mcp/mcp-server.ts';
import { omitNulls, readDocument } from '../../model/wire/json-record.ts';
import type { StoredMcpIntegration } from '../../store/mcp/mcp-integrations.ts';
import type { StoredMcpMetadata } from '../../store/mcp/mcp-metadata.ts';
import type { CapabilityName } from '../../store/mcp/mcp-server-capabilities.ts';
import type { StoredMcpServerUser } from '../../store/mcp/mcp-server-users.ts';
import type { StoredMcpServer } from '../../store/mcp/mcp-servers.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { computed, constant, record, timestamp } from '../request/record.ts';
import {
  specCapabilities,
  mcpIntegrationToRecord as toIntegrationRecord,
} from './mcp-integration-record.ts';
import { mcpMetadataToShortMetadata, ShortMetadata } from './mcp-metadata-record.ts';

const server = record<StoredMcpServer>()({
  id: z.uuid(),
  slug: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  status: z.enum(['active', 'archived']),
  organisation_id: z.uuid(),
  workspace_id: z.uuid(),
  mcp_integration_id: z.uuid(),
  default_user_access: computed(
    DefaultUserAccess,
    (row: StoredMcpServer) => row.default_user_access ?? 'allow',
  ),
  definition_policy: computed(
    DefinitionPolicy,
    (row: StoredMcpServer) => row.definition_policy ?? 'observe',
  ),
  disabled_client_capabilities: computed(DisabledClientCapabilities, (row: StoredMcpServer) =>
    readClientCapabilities(row.disabled_client_capabilities),
  ),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('mcp-server'),
});

/** Items of the list. */
export const McpServerListItem = server.schema.extend({
  workspace_name: z.string().nullable(),
  workspace_slug: z.string().nullable(),
  mcp_integration_slug: z.string(),
  mcp_integration_url: z.string(),
  auth_type: z.string(),
  url: z.string(),
  metadata: ShortMetadata,
});

/** Response of get. */
export const McpServerRecord = server.schema.extend({
  mcp_integration_details: z.object({
    id: z.uuid(),
    slug: z.string(),
    status: z.enum(['active', 'archived']),
    configurations: McpConfigurations,
    url: z.string(),
    transport: z.string(),
    auth_type: z.string(),
  }),
});

/** `workspace` is undefined when it was archived meanwhile. */
export function mcpServerToListItem(
  row: StoredMcpServer,
  integration: StoredMcpIntegration,
  workspace: StoredWorkspace | undefined,
  metadata: StoredMcpMetadata | undefined,
): z.infer<typeof McpServerListItem> {
  return {
    ...server.toRecord(row),
    workspace_name: workspace?.name ?? null,
    workspace_slug: workspace?.slug ?? null,
    mcp_integration_slug: integration.slug,
    mcp_integration_url: integration.url,
    auth_type: integration.auth_type,
    url: integration.url,
    metadata: mcpMetadataToShortMetadata(metadata),
  };
}

export function mcpServerToRecord(row: StoredMcpServer, integration: StoredMcpIntegration) {
  const details = toIntegrationRecord(integration);
  return {
    ...server.toRecord(row),
    mcp_integration_details: {
      id: details.id,
      slug: details.slug,
      status: details.status,
      configurations: details.configurations,
      url: details.url,
      transport: details.transport,
      auth_type: details.auth_type,
    },
  };
}

/** A server with its disabled capabilities and user settings. */
export interface OpenedMcpServer extends StoredMcpServer {
  readonly disabled: readonly CapabilityName[];
  readonly people: readonly Pick<StoredMcpServerUser, 'user_id' | 'enabled'>[];
}

/** The body that would create this server; sync compares it with its manifests. */
export function mcpServerToSpec(row: OpenedMcpServer): Record<string, unknown> {
  const people = row.people.map(({ user_id, enabled }) => ({ user_id, enabled: enabled !== 0 }));
  return omitNulls({
    name: row.name,
    slug: row.slug,
    mcp_integration_id: row.mcp_integration_id,
    workspace_id: row.workspace_id,
    description: row.description,
    default_user_access: row.default_user_access,
    definition_policy: row.definition_policy,
    disabled_client_capabilities: readDocument(row.disabled_client_capabilities),
    user_access: people.length === 0 ? null : people,
    disabled_capabilities: specCapabilities(row.disabled),
  });
}
