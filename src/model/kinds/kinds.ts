/** Table of the manifest kinds: references, special fields, API address and spec schema of each. */
import { configSecrets } from '../configs/config-secret-fields.ts';
import { guardrailSecrets } from '../guardrails/check-secrets.ts';
import {
  configGuardrailReferences,
  configProviderReferences,
  defaultGuardrailReferences,
  grantedWorkspaceReference,
  mappedSecretReference,
  mcpIntegrationReference,
  parentCollectionReference,
  policyReferences,
  promptReferences,
  servedWorkspaceReferences,
  workspaceGuardrailReferences,
  workspaceReference,
} from '../manifests/kind-references.ts';
import { mcpSecrets } from '../mcp/mcp-secret-fields.ts';
import { configurationSecrets } from '../providers/configuration-secrets.ts';
import { authSecrets } from '../secrets/secret-fields.ts';
import {
  bindingAddress,
  collection,
  defaultsAddress,
  keyAddress,
  workspaceGuardrailsAddress,
} from './kind-addresses.ts';
import type { KindOf, ReferenceFieldOf } from './kind-definition.ts';

// Loaded at every start of `validate`, so no schema is created before it is needed.
export const kindNames = [
  'Workspace',
  'Guardrail',
  'SecretReference',
  'Integration',
  'Provider',
  'Config',
  'ApiKey',
  'McpIntegration',
  'McpServer',
  'GuardrailMcpBinding',
  'UsageLimitPolicy',
  'RateLimitPolicy',
  'PromptLabel',
  'PromptCollection',
  'PromptPartial',
  'Prompt',
  'OrganisationDefaults',
  'GuardrailExclusion',
  'WorkspaceGuardrails',
  'Deployment',
  'ScimMapping',
  'ServiceAccount',
  'TenantServiceGroup',
] as const;

/** `metadata.name` of a kind with at most one resource in its organisation or workspace. */
export const singletonName = 'default';

export type KindName = (typeof kindNames)[number];

export type ReferenceField = ReferenceFieldOf<KindName>;
export type Kind = KindOf<KindName>;

/** Most kinds have no special fields. */
const noSpecialFields = {
  secrets: [],
  secretsGoWith: [],
  opaque: [],
  merged: [],
  sets: [],
} as const;

/** In an order in which every kind follows the kinds that it refers to, except itself. */
export const kinds: Readonly<Record<KindName, Kind>> = {
  Workspace: {
    plural: 'workspaces',
    ...noSpecialFields,
    workspaced: 'none',
    references: [],
    opaque: ['defaults.metadata', 'settings.export_settings', 'security_settings'],
    immutable: ['scope_name'],
    merged: ['defaults', 'settings', 'security_settings'],
    ...collection('/admin/v2/workspaces'),
    makeSpecSchema: async () => (await import('../workspaces/workspace.ts')).makeWorkspaceSpec(),
  },

  Guardrail: {
    plural: 'guardrails',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [workspaceReference],
    secrets: guardrailSecrets,
    opaque: ['checks.*.parameters', 'actions'],
    immutable: ['target', 'workspace_id'],
    ...collection('/v2/guardrails'),
    makeSpecSchema: async () =>
      (await import('../guardrails/guardrail.ts')).GuardrailCreate.strict(),
  },

  SecretReference: {
    plural: 'secret-references',
    ...noSpecialFields,
    workspaced: 'none',
    references: [
      { path: 'allowed_workspaces.*', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
    ],
    secrets: authSecrets.map((field) => `auth_config.${field}`),
    opaque: ['tags'],
    immutable: ['slug', 'manager_type'],
    merged: ['auth_config'],
    sets: ['allowed_workspaces', 'allowed_hosts'],
    ...collection('/admin/v2/secret-references'),
    makeSpecSchema: async () =>
      (await import('../secrets/secret-reference.ts')).makeSecretReferenceSpec(),
  },

  Integration: {
    plural: 'integrations',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [workspaceReference, grantedWorkspaceReference, mappedSecretReference],
    secrets: [
      'key',
      ...configurationSecrets.map((pattern) => `configurations.${pattern}`),
      'models.*.configurations.custom_headers.*',
    ],
    opaque: ['configurations', 'tags', 'models.*.configurations'],
    // A new address needs the secrets again.
    secretsGoWith: ['configurations', 'models'],
    immutable: ['ai_provider_id', 'workspace_id'],
    sets: ['workspaces'],
    ...collection('/admin/v2/integrations'),
    makeSpecSchema: async () => (await import('../providers/integration.ts')).makeIntegrationSpec(),
  },

  Provider: {
    plural: 'providers',
    ...noSpecialFields,
    workspaced: 'required',
    references: [
      workspaceReference,
      { path: 'integration_id', manifestField: 'integrationRef', kind: 'Integration', by: 'id' },
    ],
    opaque: ['tags'],
    immutable: ['integration_id', 'workspace_id'],
    sets: ['rate_limits'],
    ...collection('/v2/providers'),
    makeSpecSchema: async () => (await import('../providers/provider.ts')).ProviderCreate.strict(),
  },

  Config: {
    plural: 'configs',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [workspaceReference, ...configGuardrailReferences, ...configProviderReferences],
    secrets: configSecrets.map((pattern) => `config.${pattern}`),
    opaque: ['config'],
    immutable: ['workspace_id'],
    ...collection('/v2/configs'),
    makeSpecSchema: async () => (await import('../configs/config.ts')).ConfigCreate.strict(),
  },

  ApiKey: {
    plural: 'api-keys',
    ...noSpecialFields,
    workspaced: 'optional',
    credential: 'key',
    references: [
      workspaceReference,
      { path: 'defaults.config_id', manifestField: 'configRef', kind: 'Config', by: 'id' },
    ],
    opaque: ['defaults.metadata'],
    immutable: ['type', 'sub_type', 'user_id', 'workspace_id'],
    merged: ['defaults'],
    sets: ['scopes', 'alert_emails', 'rate_limits'],
    ...keyAddress,
    makeSpecSchema: async () => (await import('../people/api-key.ts')).makeApiKeySpec(),
  },

  McpIntegration: {
    plural: 'mcp-integrations',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [workspaceReference, grantedWorkspaceReference, mappedSecretReference],
    secrets: mcpSecrets.map((pattern) => `configurations.${pattern}`),
    secretsGoWith: ['url'],
    opaque: [
      'configurations.custom_headers',
      'configurations.headers',
      'configurations.passthrough_header',
      'configurations.passthrough_headers',
    ],
    immutable: ['slug', 'workspace_id'],
    sets: ['workspaces', 'disabled_capabilities', 'approved_definitions'],
    ...collection('/admin/v2/mcp-integrations'),
    makeSpecSchema: async () =>
      (await import('../mcp/mcp-integration.ts')).McpIntegrationCreate.strict(),
  },

  McpServer: {
    plural: 'mcp-servers',
    ...noSpecialFields,
    workspaced: 'required',
    references: [workspaceReference, mcpIntegrationReference],
    immutable: ['mcp_integration_id', 'workspace_id', 'slug'],
    sets: ['disabled_capabilities', 'user_access'],
    ...collection('/v2/mcp-servers'),
    makeSpecSchema: async () => (await import('../mcp/mcp-server.ts')).McpServerCreate.strict(),
  },

  GuardrailMcpBinding: {
    plural: 'guardrail-mcp-bindings',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [
      { path: 'guardrail_id', manifestField: 'guardrailRef', kind: 'Guardrail', by: 'id' },
      { path: 'mcp_server_id', manifestField: 'mcpServerRef', kind: 'McpServer', by: 'id' },
    ],
    immutable: ['guardrail_id', 'mcp_server_id'],
    sets: ['run_on', 'mcp_integration_capability_ids'],
    ...bindingAddress,
    makeSpecSchema: async () =>
      (await import('../guardrails/guardrail-mapping.ts')).makeGuardrailMappingSpec(),
  },

  UsageLimitPolicy: {
    plural: 'usage-limit-policies',
    ...noSpecialFields,
    workspaced: 'required',
    references: policyReferences,
    immutable: ['workspace_id'],
    sets: ['conditions'],
    ...collection('/v2/policies/usage-limits'),
    makeSpecSchema: async () =>
      (await import('../limits/usage-limit-policy.ts')).makeUsageLimitPolicySpec(),
  },

  RateLimitPolicy: {
    plural: 'rate-limit-policies',
    ...noSpecialFields,
    workspaced: 'required',
    references: policyReferences,
    immutable: ['target', 'workspace_id'],
    sets: ['conditions'],
    ...collection('/v2/policies/rate-limits'),
    makeSpecSchema: async () =>
      (await import('../limits/rate-limit-policy.ts')).makeRateLimitPolicySpec(),
  },

  PromptLabel: {
    plural: 'prompt-labels',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [workspaceReference],
    immutable: ['workspace_id'],
    ...collection('/v2/labels'),
    makeSpecSchema: async () =>
      (await import('../prompts/prompt-label.ts')).PromptLabelCreate.strict(),
  },

  PromptCollection: {
    plural: 'prompt-collections',
    ...noSpecialFields,
    workspaced: 'required',
    references: [workspaceReference, parentCollectionReference],
    immutable: ['slug', 'workspace_id'],
    ...collection('/v2/collections'),
    makeSpecSchema: async () =>
      (await import('../prompts/prompt-collection.ts')).PromptCollectionCreate.strict(),
  },

  PromptPartial: {
    plural: 'prompt-partials',
    ...noSpecialFields,
    workspaced: 'optional',
    references: [workspaceReference],
    immutable: ['slug', 'workspace_id'],
    ...collection('/v2/prompts/partials'),
    makeSpecSchema: async () =>
      (await import('../prompts/prompt-partial.ts')).PromptPartialCreate.strict(),
  },

  Prompt: {
    plural: 'prompts',
    ...noSpecialFields,
    workspaced: 'required',
    references: promptReferences,
    opaque: ['parameters', 'functions', 'tools', 'tool_choice', 'template_metadata'],
    immutable: ['slug', 'workspace_id'],
    ...collection('/v2/prompts'),
    makeSpecSchema: async () => (await import('../prompts/prompt.ts')).PromptCreate.strict(),
  },

  OrganisationDefaults: {
    plural: 'organisation-defaults',
    ...noSpecialFields,
    workspaced: 'none',
    isSingleton: true,
    references: defaultGuardrailReferences,
    opaque: ['export_settings'],
    immutable: [],
    sets: ['export_settings.deniedFields'],
    ...defaultsAddress,
    makeSpecSchema: async () =>
      (await import('../workspaces/organisation-defaults.ts')).OrganisationDefaults.strict(),
  },

  GuardrailExclusion: {
    plural: 'guardrail-exclusions',
    ...noSpecialFields,
    workspaced: 'required',
    isSingleton: true,
    references: [workspaceReference],
    immutable: ['workspace_id'],
    ...collection('/v2/guardrail-exclusions'),
    makeSpecSchema: async () =>
      (await import('../guardrails/guardrail-exclusion.ts')).GuardrailExclusionCreate.strict(),
  },

  WorkspaceGuardrails: {
    plural: 'workspace-guardrails',
    ...noSpecialFields,
    workspaced: 'required',
    isSingleton: true,
    references: [workspaceReference, ...workspaceGuardrailReferences],
    immutable: ['workspace_id'],
    ...workspaceGuardrailsAddress,
    makeSpecSchema: async () =>
      (await import('../workspaces/workspace-guardrails.ts')).makeWorkspaceGuardrailsSpec(),
  },

  Deployment: {
    plural: 'deployments',
    ...noSpecialFields,
    workspaced: 'none',
    references: servedWorkspaceReferences,
    opaque: ['tags', 'deployment_config', 'auth_settings.jwt_sub_workspace_mapping'],
    immutable: ['slug'],
    merged: ['auth_settings'],
    sets: ['auth_settings.workspaces_allowed', 'auth_settings.jwt_subs_allowed'],
    ...collection('/v2/deployments'),
    makeSpecSchema: async () =>
      (await import('../workspaces/gateway-deployment.ts')).DeploymentCreate.strict(),
  },

  ScimMapping: {
    plural: 'scim-mappings',
    ...noSpecialFields,
    workspaced: 'required',
    title: 'scim_group_name',
    references: [workspaceReference],
    immutable: ['workspace_id', 'scim_group_name'],
    ...collection('/v2/scim/workspaces'),
    makeSpecSchema: async () => (await import('../people/scim-mapping.ts')).makeScimMappingSpec(),
  },

  ServiceAccount: {
    plural: 'service-accounts',
    ...noSpecialFields,
    workspaced: 'optional',
    credential: 'client_secret',
    references: [workspaceReference],
    immutable: ['name', 'workspace_id'],
    sets: ['roles'],
    ...collection('/v2/service-accounts'),
    makeSpecSchema: async () =>
      (await import('../people/service-account.ts')).makeServiceAccountSpec(),
  },

  TenantServiceGroup: {
    plural: 'tenant-service-groups',
    ...noSpecialFields,
    workspaced: 'none',
    references: [],
    immutable: [],
    ...collection('/v2/tsgs'),
    makeSpecSchema: async () =>
      (await import('../people/tenant-service-group.ts')).TenantServiceGroupCreate.strict(),
  },
};

/** Whether sync generates and delivers a credential of the kind. */
export function hasCredential(kind: KindName): boolean {
  return kinds[kind].credential !== undefined;
}
