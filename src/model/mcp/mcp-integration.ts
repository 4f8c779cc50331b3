/** Defines the bodies that create and update MCP integrations and their capabilities. */
import { z } from 'zod';
import { TokenValidation } from '../guardrails/token-validation.ts';
import { GlobalWorkspaceAccess } from '../providers/integration-access.ts';
import { McpSecretMappings } from '../secrets/secret-mapping.ts';
import { described } from '../wire/described.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { OptionalSlug } from '../wire/slug.ts';
import { DisabledClientCapabilities } from './client-capability.ts';
import { DefinitionDigest, DefinitionPolicy } from './definition-state.ts';
import { ExternalAuth, OAuthMetadata } from './external-auth.ts';
import { UserIdentityForwarding } from './identity-forwarding.ts';

const capabilitiesMax = 1000;
const workspacesMax = 1000;

/** Header names to values; model/services/forward-headers.ts validates both. */
const HeaderMap = z.record(z.string(), z.string());

const HeaderName = z.string().min(1).max(64);

const RenamedHeader = z.strictObject({
  from: described(HeaderName.clone(), 'Name in the request of the caller.'),
  to: described(HeaderName.clone(), 'Name at the server.'),
});

/** Headers of the caller that the server receives: names, or a list of exceptions. */
const ForwardHeaders = z.union([
  z.array(HeaderName),
  z.strictObject({
    mode: described(
      z.enum(['allowlist', 'all-except']),
      'Whether only the listed headers are forwarded, or all others.',
    ),
    headers: described(
      z.array(z.union([HeaderName, RenamedHeader])),
      'Names of headers; from and to rename one in an allow-list.',
    ),
  }),
]);
export type ForwardHeaders = z.infer<typeof ForwardHeaders>;

/**
 * How the gateway connects to the server. The values of `custom_headers` and `headers` and
 * `oauth_client_secret`, `oauth_private_key`, `oauth_idp_client_secret` are secrets: write-only, and returned as `secretMask` (model/secrets/secret-fields.ts).
 */
export const McpConfigurations = z.looseObject({
  custom_headers: described(HeaderMap.optional(), 'Headers of every request; values are secrets.'),
  headers: described(HeaderMap.optional(), 'Alias of custom_headers.'),
  oauth_client_secret: described(
    z.string().min(1).max(4096).optional(),
    'Secret of the OAuth client named by oauth_client_id; never returned.',
  ),
  passthrough_header: described(
    HeaderMap.optional(),
    'Headers of every request whose values are no secrets.',
  ),
  passthrough_headers: described(HeaderMap.optional(), 'Alias of passthrough_header.'),
  forward_headers: described(
    ForwardHeaders.optional(),
    'Headers of the caller that are forwarded, except credentials and others that are restricted.',
  ),
  user_identity_forwarding: described(
    UserIdentityForwarding.optional(),
    'Header by which the server learns who calls.',
  ),
  jwt_validation: described(
    TokenValidation.optional(),
    'Token that every request to the server must carry, beside the key of the gateway or as its token.',
  ),
  oauth_client_id: described(z.string().optional(), 'Id of the OAuth client.'),
  oauth_scope: described(z.string().optional(), 'Scope of its tokens.'),
  oauth_token_endpoint: described(z.string().optional(), 'Address that issues its tokens.'),
  oauth_grant_type: described(
    z.enum(['client_credentials', 'token_exchange', 'identity_assertion']).optional(),
    "Whether the gateway requests its own token, exchanges the token of each caller (RFC 8693), or has the callers' identity provider assert who calls (ID-JAG).",
    { default: 'client_credentials' },
  ),
  oauth_idp_token_endpoint: described(
    z.string().optional(),
    "Token endpoint of the callers' identity provider, for identity_assertion.",
  ),
  oauth_idp_client_id: described(
    z.string().optional(),
    'Id of the OAuth client at the identity provider.',
  ),
  oauth_idp_client_secret: described(
    z.string().min(1).max(4096).optional(),
    'Secret of the OAuth client at the identity provider; never returned.',
  ),
  oauth_audience: described(
    z.string().max(2048).optional(),
    'Audience that exchanged tokens are requested for, beside the resource.',
  ),
  oauth_token_endpoint_auth_method: described(
    z.enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt']).optional(),
    'How the client authenticates there.',
    { default: 'client_secret_basic' },
  ),
  oauth_private_key: described(
    z.string().min(1).max(16_384).optional(),
    'Private key of the client for private_key_jwt, in PEM or as a JWK; never returned.',
  ),
  oauth_private_key_id: described(
    z.string().min(1).max(255).optional(),
    'Name of the key (kid) in assertions; by default that of the JWK.',
  ),
  oauth_issuer: described(
    z.string().min(1).max(2048).optional(),
    'Issuer at the token endpoint, for which assertions are made: required for identity_assertion; for private_key_jwt the endpoint by default.',
  ),
  oauth_resource: described(
    z.string().max(2048).optional(),
    'Resource that tokens are requested for (RFC 8707); by default the url, and none if it is empty.',
  ),
  oauth_metadata: described(
    OAuthMetadata.optional(),
    'Members in place of those that the authorization server of the MCP server publishes.',
  ),
  external_auth_config: described(
    ExternalAuth.optional(),
    'Identity provider at which callers sign in; a token of it is required beside the key of the gateway.',
  ),
});
export type McpConfigurations = z.infer<typeof McpConfigurations>;

const McpUrl = z
  .string()
  .min(1)
  .max(2048)
  .meta({
    format: 'uri',
    description: 'URL of the MCP server: http or https.',
    examples: ['https://mcp.example.com/mcp'],
  });
const AuthType = z.enum(['none', 'headers', 'oauth_auto', 'oauth_client_credentials']);
const Transport = z.enum(['http', 'sse', 'interactive']);

/** Whether one workspace may use an MCP integration of the organisation. */
export const McpWorkspaceGrant = z.strictObject({
  id: described(z.string().min(1).max(255), 'Workspace by UUID or slug.'),
  enabled: described(z.boolean(), 'Whether the workspace may use the integration.'),
});
export type McpWorkspaceGrant = z.infer<typeof McpWorkspaceGrant>;

export const McpCapabilityType = z.enum(['tool', 'prompt', 'resource', 'resource_template']);
export type McpCapabilityType = z.infer<typeof McpCapabilityType>;

/** Definitions that are approved, by digest. Resources are approved when they are first seen. */
const ApprovedDefinitions = z
  .array(
    z.strictObject({
      type: described(McpCapabilityType.exclude(['resource']), 'Type of the capability.'),
      name: described(
        z.string().min(1).max(1020),
        'Name at the server; of a resource template its address.',
      ),
      digest: described(DefinitionDigest.clone(), 'Digest of the approved definition.', {
        examples: [`sha256:${'0'.repeat(64)}`],
      }),
    }),
  )
  .max(capabilitiesMax);

/** Fields that pin definitions. */
const definitionFields = {
  definition_policy: described(
    DefinitionPolicy.nullable().optional(),
    'What happens to definitions that are not approved: reported only, hidden, or blocked. The stricter policy of integration and server applies.',
    { default: 'observe' },
  ),
  approved_definitions: described(
    ApprovedDefinitions.nullable().optional(),
    'Tools, prompts and resource templates that are approved, by digest; the first ones are those of the first sync if omitted.',
  ),
};

/** Capabilities that may not be used; all others may. */
export const DisabledCapabilities = z
  .array(
    z.strictObject({
      type: described(McpCapabilityType.clone(), 'Type of the capability.'),
      name: described(ResourceName.clone(), 'Name of the capability at the server.'),
    }),
  )
  .max(capabilitiesMax);

/** Fields that restrict the capabilities. */
const capabilityFields = {
  disabled_capabilities: described(
    DisabledCapabilities.optional(),
    'Tools, prompts and resources that may not be used; all others may.',
  ),
  disabled_client_capabilities: described(
    DisabledClientCapabilities.nullable().optional(),
    'Capabilities of clients that the server may not use, for example sampling: it does not learn that a client has them.',
  ),
};

/** Fields that control which workspaces may use an integration of the organisation. */
const accessFields = {
  global_workspace_access: described(
    GlobalWorkspaceAccess.nullable().optional(),
    'Access of the workspaces that are not listed; for an integration of the organisation.',
  ),
  workspaces: described(
    z.array(McpWorkspaceGrant).max(workspacesMax).optional(),
    'Access of single workspaces; for an integration of the organisation.',
  ),
};

/** Body of POST /mcp-integrations. */
export const McpIntegrationCreate = z.object({
  name: ResourceName,
  url: McpUrl,
  auth_type: described(AuthType, 'How the gateway authenticates to the server.'),
  transport: described(
    Transport,
    'Transport of the server: streamable HTTP or SSE; interactive is stored and treated as http.',
  ),
  slug: OptionalSlug,
  description: described(freeText(5000).nullable().optional(), 'Purpose of the integration.'),
  workspace_id: WorkspaceReference.optional(),
  configurations: described(McpConfigurations.optional(), 'Headers and other connection settings.'),
  secret_mappings: described(
    McpSecretMappings.optional(),
    'Secret references that supply fields, such as headers.',
  ),
  ...capabilityFields,
  ...definitionFields,
  ...accessFields,
});
export type McpIntegrationCreate = z.infer<typeof McpIntegrationCreate>;

/** Body of PUT /mcp-integrations/{id}: an absent field is unchanged, null clears it, lists are replaced as a whole. */
export const McpIntegrationUpdate = McpIntegrationCreate.omit({ slug: true, workspace_id: true })
  .partial()
  .extend({
    configurations: McpConfigurations.nullable().optional(),
    secret_mappings: McpSecretMappings.nullable().optional(),
  });
export type McpIntegrationUpdate = z.infer<typeof McpIntegrationUpdate>;

/** Body of PUT /mcp-integrations/{id}/workspaces: merged by workspace. */
export const McpIntegrationWorkspacesPut = z.object({
  ...accessFields,
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
