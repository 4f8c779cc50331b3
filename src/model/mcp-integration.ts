/** Knows the bodies by which MCP integrations and their capabilities are made and changed. */
import { z } from 'zod';
import { freeText, ResourceName, WorkspaceReference } from './resource-fields.ts';
import { Slug } from './slug.ts';

const secretMappingsMax = 100;
const capabilitiesMax = 1000;

/** Header name to value; names and values are judged by forward-headers.ts. */
const HeaderMap = z.record(z.string(), z.string());

/**
 * How the gateway talks to the server. Values of `custom_headers` and `headers` are secrets:
 * write-only, and answered as {@link secretMask}. Other keys pass through.
 */
export const McpConfigurations = z.looseObject({
  custom_headers: HeaderMap.optional(),
  headers: HeaderMap.optional(),
  passthrough_header: HeaderMap.optional(),
  passthrough_headers: HeaderMap.optional(),
});
export type McpConfigurations = z.infer<typeof McpConfigurations>;

/** The header maps of {@link McpConfigurations} whose values are secrets. */
export const secretHeaderMaps = ['custom_headers', 'headers'] as const;

/** Stands for a secret value in every answer; sent back by a client it means "keep what is stored". */
export const secretMask = '********';

export const SecretMapping = z.strictObject({
  target_field: z.string().min(1).max(255),
  secret_reference_id: z.string().min(1).max(255),
  secret_key: z.string().max(255).nullable().optional(),
  value_format: z.enum(['json', 'string']).optional(),
});

const McpUrl = z.string().min(1).max(2048).meta({ format: 'uri' });
const AuthType = z.enum(['none', 'headers', 'oauth_auto']);
const Transport = z.enum(['http', 'sse']);
const SecretMappings = z.array(SecretMapping).max(secretMappingsMax);

/** Body of POST /mcp-integrations. */
export const McpIntegrationCreate = z.object({
  name: ResourceName,
  url: McpUrl,
  auth_type: AuthType,
  transport: Transport,
  slug: Slug.optional(),
  description: freeText(5000).nullable().optional(),
  workspace_id: WorkspaceReference.optional(),
  configurations: McpConfigurations.optional(),
  secret_mappings: SecretMappings.optional(),
});
export type McpIntegrationCreate = z.infer<typeof McpIntegrationCreate>;

/** Body of PUT /mcp-integrations/{id}; absent fields stay, null clears. */
export const McpIntegrationUpdate = z.object({
  name: ResourceName.optional(),
  description: freeText(5000).nullable().optional(),
  url: McpUrl.optional(),
  auth_type: AuthType.optional(),
  transport: Transport.optional(),
  configurations: McpConfigurations.nullable().optional(),
  secret_mappings: SecretMappings.nullable().optional(),
});
export type McpIntegrationUpdate = z.infer<typeof McpIntegrationUpdate>;

export const McpCapabilityType = z.enum(['tool', 'prompt', 'resource']);

/** Body of PUT /mcp-integrations/{id}/capabilities: merged by type and name. */
export const McpCapabilitiesPut = z.object({
  capabilities: z
    .array(z.strictObject({ name: ResourceName, type: McpCapabilityType, enabled: z.boolean() }))
    .min(1)
    .max(capabilitiesMax),
});
export type McpCapabilitiesPut = z.infer<typeof McpCapabilitiesPut>;
