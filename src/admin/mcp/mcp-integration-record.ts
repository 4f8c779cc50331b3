/** Converts MCP integrations to API records and to the body that would create them again. */
import { z } from 'zod';
import { headerSecretLocations } from '../../auth/mcp-secrets.ts';
import { fingerprintSecrets, maskSecrets } from '../../auth/secret-values.ts';
import {
  DisabledClientCapabilities,
  readClientCapabilities,
} from '../../model/mcp/client-capability.ts';
import { findingOf, type PinnedDefinition } from '../../model/mcp/definition-pins.ts';
import { DefinitionPolicy } from '../../model/mcp/definition-state.ts';
import { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { isOpenToAll } from '../../model/providers/integration-access.ts';
import {
  mappingsAsSent,
  mappingsForSnapshot,
  SecretMapping,
} from '../../model/secrets/secret-mapping.ts';
import { omitNulls, readDocument } from '../../model/wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { DefinitionDigests } from '../../store/mcp/mcp-definitions.ts';
import type { StoredMcpIntegrationWorkspace } from '../../store/mcp/mcp-integration-workspaces.ts';
import type { StoredMcpIntegration } from '../../store/mcp/mcp-integrations.ts';
import type { StoredMcpMetadata } from '../../store/mcp/mcp-metadata.ts';
import type { CapabilityName } from '../../store/mcp/mcp-server-capabilities.ts';
import type { SpecSecrets } from '../request/resource.ts';
import { mcpMetadataToShortMetadata, ShortMetadata } from './mcp-metadata-record.ts';
import type { SealedConfigurations } from './mcp-secrets.ts';

/** Response of get; in lists of v2 and admin `configurations` is JSON text. */
export const McpIntegrationRecord = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  description: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  type: z.enum(['organisation', 'workspace']),
  url: z.string(),
  auth_type: z.string(),
  transport: z.string(),
  configurations: z.union([McpConfigurations, z.string()]),
  secret_mappings: z.array(SecretMapping),
  global_workspace_access: z.object({ enabled: z.boolean() }),
  definition_policy: DefinitionPolicy,
  disabled_client_capabilities: DisabledClientCapabilities,
  status: z.enum(['active', 'archived']),
  owner_id: z.uuid(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('mcp-integration'),
});

/** Items of the list. */
export const McpIntegrationItem = McpIntegrationRecord.extend({ metadata: ShortMetadata });

/** Contains no header value. */
export function mcpIntegrationToRecord(row: StoredMcpIntegration) {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    description: row.description,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    type: row.workspace_id === null ? ('organisation' as const) : ('workspace' as const),
    url: row.url,
    auth_type: row.auth_type,
    transport: row.transport,
    configurations: maskSecrets(headerSecretLocations(row.id), readMcpConfigurations(row) ?? {}),
    secret_mappings: mappingsAsSent(row.secret_mappings),
    global_workspace_access: { enabled: row.workspace_id === null && isOpenToAll(row) },
    definition_policy: row.definition_policy ?? ('observe' as const),
    disabled_client_capabilities: readClientCapabilities(row.disabled_client_capabilities),
    status: row.status,
    owner_id: row.owner_id,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'mcp-integration' as const,
  };
}

/** Like {@link mcpIntegrationToRecord}; some clients expect `configurations` as JSON text. */
export function mcpIntegrationToListItem(
  row: StoredMcpIntegration,
  form: 'object' | 'text',
  metadata: StoredMcpMetadata | undefined,
) {
  const record = { ...mcpIntegrationToRecord(row), metadata: mcpMetadataToShortMetadata(metadata) };
  if (form === 'object') return record;
  return { ...record, configurations: JSON.stringify(record.configurations) };
}

/** An integration with its grants and disabled capabilities. */
export interface GrantedMcpIntegration extends StoredMcpIntegration {
  readonly grants: readonly StoredMcpIntegrationWorkspace[];
  readonly disabled: readonly CapabilityName[];
  /** Approved definitions; null unless they were declared. */
  readonly approved: readonly DefinitionDigests[] | null;
  /** Definitions that are not trusted or that are suspicious. */
  readonly findings: readonly PinnedDefinition[];
}

/**
 * The body that would create this integration, without absent fields; header values are replaced by
 * fingerprints.
 */
export function mcpIntegrationToSpec(
  row: GrantedMcpIntegration,
  { unsealer, fingerprintKey }: SpecSecrets,
): Record<string, unknown> {
  const stored = readMcpConfigurations(row);
  const grants = row.grants.map(({ workspace_id: id, enabled }) => ({
    id,
    enabled: enabled !== 0,
  }));
  return omitNulls({
    name: row.name,
    slug: row.slug,
    url: row.url,
    auth_type: row.auth_type,
    transport: row.transport,
    description: row.description,
    workspace_id: row.workspace_id,
    configurations:
      stored && fingerprintSecrets(unsealer, fingerprintKey, headerSecretLocations(row.id), stored),
    secret_mappings: mappingsForSnapshot(row.secret_mappings),
    global_workspace_access: readDocument(row.global_workspace_access),
    workspaces: grants.length === 0 ? null : grants,
    disabled_capabilities: specCapabilities(row.disabled),
    definition_policy: row.definition_policy,
    disabled_client_capabilities: readDocument(row.disabled_client_capabilities),
    approved_definitions: row.approved && approvedSpec(row.approved),
  });
}

/** Resources are never declared. */
function approvedSpec(approved: readonly DefinitionDigests[]) {
  return approved
    .filter(({ type }) => type !== 'resource')
    .map(({ type, name, approved_digest: digest }) => ({ type, name, digest }));
}

export function findingsOfSnapshot({ findings }: GrantedMcpIntegration) {
  return findings.length === 0 ? {} : { definitions: findings.map(findingOf) };
}

/** Null for none. */
export function specCapabilities(disabled: readonly CapabilityName[]): CapabilityName[] | null {
  return disabled.length === 0 ? null : disabled.map(({ type, name }) => ({ type, name }));
}

/** The stored configurations with sealed header values. */
export function readMcpConfigurations(row: StoredMcpIntegration): SealedConfigurations | null {
  return readDocument<SealedConfigurations>(row.configurations);
}
