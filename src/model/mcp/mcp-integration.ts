/** Knows the bodies by which MCP integrations and their capabilities are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { GlobalWorkspaceAccess } from '../providers/integration-access.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { SecretMappings } from '../secrets/secret-mapping.ts';
import { Slug } from '../wire/slug.ts';

const capabilitiesMax = 1000;
const workspacesMax = 1000;

/** Header name to value; names and values are judged by forward-headers.ts. */
const HeaderMap = z.record(z.string(), z.string());

/**
 * How the gateway talks to the server. Values of `custom_headers` and `headers` are secrets, and so is
 * `oauth_client_secret`: write-only, and answered as {@link secretMask}. Other keys pass through.
 */
export const McpConfigurations = z.looseObject({
  custom_headers: described(HeaderMap.optional(), 'Headers of every request; values are secrets.'),
  headers: described(HeaderMap.optional(), 'As custom_headers, by another name.'),
  oauth_client_secret: described(
    z.string().min(1).max(4096).optional(),
    'Secret of the OAuth client of oauth_client_id; kept and never told.',
  ),
  passthrough_header: described(
    HeaderMap.optional(),
    'Headers of the caller that are passed on, each to the name that it gets.',
  ),
  passthrough_headers: described(HeaderMap.optional(), 'As passthrough_header, by another name.'),
});
export type McpConfigurations = z.infer<typeof McpConfigurations>;

/** Stands for a secret value in every answer; sent back by a client it means "keep what is stored". */
export const secretMask = '********';

const McpUrl = z
  .string()
  .min(1)
  .max(2048)
  .meta({
    format: 'uri',
    description: 'Address of the MCP server: http or https.',
    examples: ['https://mcp.example.com/mcp'],
  });
const AuthType = z.enum(['none', 'headers', 'oauth_auto', 'oauth_client_credentials']);
const Transport = z.enum(['http', 'sse', 'interactive']);

/** Whether one workspace may use an MCP integration of the organisation. */
export const McpWorkspaceGrant = z.strictObject({
  id: described(z.string().min(1).max(255), 'Workspace by UUID or slug.'),
  enabled: described(z.boolean(), 'Whether it may use the integration.'),
});
export type McpWorkspaceGrant = z.infer<typeof McpWorkspaceGrant>;

export const McpCapabilityType = z.enum(['tool', 'prompt', 'resource', 'resource_template']);
export type McpCapabilityType = z.infer<typeof McpCapabilityType>;

/** Which capabilities may not be used; all others may. */
export const DisabledCapabilities = z
  .array(
    z.strictObject({
      type: described(McpCapabilityType.clone(), 'What it is.'),
      name: described(ResourceName.clone(), 'Its name at the server.'),
    }),
  )
  .max(capabilitiesMax);

/** What of the server may be used. */
const openness = {
  disabled_capabilities: described(
    DisabledCapabilities.optional(),
    'Tools, prompts and resources that may not be used; all others may.',
  ),
};

/** Who may use an integration of the organisation. */
const access = {
  global_workspace_access: described(
    GlobalWorkspaceAccess.nullable().optional(),
    'Of an integration of the organisation: who may use it beside the workspaces named.',
  ),
  workspaces: described(
    z.array(McpWorkspaceGrant).max(workspacesMax).optional(),
    'Of an integration of the organisation: which single workspaces may use it.',
  ),
};

/** Body of POST /mcp-integrations. */
export const McpIntegrationCreate = z.object({
  name: ResourceName,
  url: McpUrl,
  auth_type: described(AuthType, 'How the gateway shows who it is.'),
  transport: described(
    Transport,
    'How the gateway talks to the server: streamable HTTP, or SSE; interactive is kept, and asked as http.',
  ),
  slug: described(Slug.optional(), 'Short name in addresses; made from the name when left out.'),
  description: described(freeText(5000).nullable().optional(), 'What the integration is for.'),
  workspace_id: WorkspaceReference.optional(),
  configurations: described(
    McpConfigurations.optional(),
    'Headers and whatever else the server wants.',
  ),
  secret_mappings: described(
    SecretMappings.optional(),
    'Secrets that the server holds, and the fields that they go into.',
  ),
  ...openness,
  ...access,
});
export type McpIntegrationCreate = z.infer<typeof McpIntegrationCreate>;

/** Body of PUT /mcp-integrations/{id}; absent fields stay, null clears, lists are replaced whole. */
export const McpIntegrationUpdate = z.object({
  name: ResourceName.optional(),
  description: freeText(5000).nullable().optional(),
  url: McpUrl.optional(),
  auth_type: AuthType.optional(),
  transport: Transport.optional(),
  configurations: McpConfigurations.nullable().optional(),
  secret_mappings: SecretMappings.nullable().optional(),
  ...openness,
  ...access,
});
export type McpIntegrationUpdate = z.infer<typeof McpIntegrationUpdate>;

/** Body of PUT /mcp-integrations/{id}/workspaces: merged by workspace. */
export const McpIntegrationWorkspacesPut = z.object({
  ...access,
  override_existing_workspace_access: z.boolean().optional(),
});
export type McpIntegrationWorkspacesPut = z.infer<typeof McpIntegrationWorkspacesPut>;

/** Body of PUT …/capabilities: merged by type and name. */
export const McpCapabilitiesPut = z.object({
  capabilities: z
    .array(z.strictObject({ name: ResourceName, type: McpCapabilityType, enabled: z.boolean() }))
    .min(1)
    .max(capabilitiesMax),
});
export type McpCapabilitiesPut = z.infer<typeof McpCapabilitiesPut>;
