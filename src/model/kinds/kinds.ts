/** Knows every manifest kind: its fields that refer to others, how its API is addressed, where its body is. */
import type { z } from 'zod';
import { configurationSecrets } from '../providers/configuration-secrets.ts';
import {
  type Addressed,
  bindingAddress,
  collection,
  defaultsAddress,
  keyAddress,
  workspaceGuardrailsAddress,
} from './kind-addresses.ts';
import {
  configGuardrails,
  defaultGuardrails,
  grantedWorkspace,
  mappedSecrets,
  policyReferences,
  servedWorkspaces,
  workspaceGuardrails,
  workspaceReference,
} from '../manifests/kind-references.ts';
import { mcpSecrets } from '../mcp/mcp-secret-fields.ts';
import { authSecrets } from '../secrets/secret-fields.ts';

// Read by every start of `validate`: nothing here makes a schema before it is asked for.
export const kindNames = [
  'Workspace',
  'Guardrail',
  'Config',
  'ApiKey',
  'SecretReference',
  'McpIntegration',
  'McpServer',
  'GuardrailMcpBinding',
  'UsageLimitPolicy',
  'RateLimitPolicy',
  'Integration',
  'Provider',
  'PromptLabel',
  'PromptCollection',
  'PromptPartial',
  'Prompt',
  'OrganisationDefaults',
  'GuardrailExclusion',
  'WorkspaceGuardrails',
  'Deployment',
  'ScimMapping',
] as const;

/** `metadata.name` of a kind of which there is one at most in its place. */
export const onlyName = 'default';

export type KindName = (typeof kindNames)[number];

/** A field that names another resource: in a manifest by name, on the wire by id or slug. */
export interface ReferenceField {
  /** Place in the canonical spec (see {@link Kind}): `defaults.config_id`. */
  readonly path: string;
  /**
   * Key as written in a manifest: in place of the path's last key (`configRef`), or, where the path
   * ends in `*`, the one key of an object that is the list's item (`- guardrailRef: pii`). Empty
   * where the reference comes from `metadata.workspace`.
   */
  readonly manifestField: string;
  readonly kind: KindName;
  readonly by: 'id' | 'slug';
}

/**
 * How one kind is written, compared and addressed. Places are dotted, in wire spelling; `*` is any
 * one key or item, `**` any number of them, also none.
 */
export interface Kind extends Addressed {
  /** Names the file of an export: `api-keys`. */
  readonly plural: string;
  readonly workspaced: 'none' | 'required' | 'optional';
  /** Whether there is one at most in its place; it is called {@link onlyName} then. */
  readonly isOnlyOne?: true;
  /** The field that is the name which the API shows, where that is not `name`. */
  readonly title?: string;
  readonly references: readonly ReferenceField[];
  /** Write-only values: given by `valueFrom`, compared by fingerprint, never printed. */
  readonly secrets: readonly string[];
  /** Top-level fields of which the server takes another value only with the write-only values beside it. */
  readonly secretsGoWith: readonly string[];
  /** Subtrees copied as written, without camelCase conversion. */
  readonly opaque: readonly string[];
  /** Top-level fields that cannot be changed in place: a difference means replace. */
  readonly immutable: readonly string[];
  /** Top-level objects that the API merges by key: cleared keys must be sent as null. */
  readonly merged: readonly string[];
  /** Lists whose order means nothing. */
  readonly sets: readonly string[];
  /**
   * Makes the schema of the create body, strict: what a manifest's spec must parse to once converted.
   * An issue of its own may carry `params.candidates`: the words that would have been right.
   */
  readonly makeBody: () => Promise<z.ZodObject>;
}

/** What most kinds have none of. */
const plain = { secrets: [], secretsGoWith: [], opaque: [], merged: [], sets: [] } as const;

/** Each after those that it refers to, its own apart. */
export const kinds: Readonly<Record<KindName, Kind>> = {
  Workspace: {
    plural: 'workspaces',
    ...plain,
    workspaced: 'none',
    references: [],
    opaque: ['defaults.metadata', 'settings.export_settings', 'security_settings'],
    immutable: ['scope_name'],
    merged: ['defaults', 'settings', 'security_settings'],
    ...collection('/admin/v2/workspaces'),
    makeBody: async () => (await import('../workspaces/workspace.ts')).WorkspaceCreate.strict(),
  },

  Guardrail: {
    plural: 'guardrails',
    ...plain,
    workspaced: 'optional',
    references: [workspaceReference],
    opaque: ['checks.*.parameters', 'actions'],
    immutable: ['target', 'workspace_id'],
    ...collection('/v2/guardrails'),
    makeBody: async () => (await import('../guardrails/guardrail.ts')).GuardrailCreate.strict(),
  },

  Config: {
    plural: 'configs',
    ...plain,
    workspaced: 'optional',
    references: [workspaceReference, ...configGuardrails],
    opaque: ['config'],
    immutable: ['workspace_id'],
    ...collection('/v2/configs'),
    makeBody: async () => (await import('../configs/config.ts')).ConfigCreate.strict(),
  },

  ApiKey: {
    plural: 'api-keys',
    ...plain,
    workspaced: 'optional',
    references: [
      workspaceReference,
      { path: 'defaults.config_id', manifestField: 'configRef', kind: 'Config', by: 'id' },
    ],
    opaque: ['defaults.metadata'],
    immutable: ['type', 'sub_type', 'user_id', 'workspace_id'],
    merged: ['defaults'],
    sets: ['scopes', 'alert_emails', 'rate_limits'],
    ...keyAddress,
    makeBody: async () => (await import('../people/api-key.ts')).makeApiKeySpec(),
  },

  SecretReference: {
    plural: 'secret-references',
    ...plain,
    workspaced: 'none',
    references: [
      { path: 'allowed_workspaces.*', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
    ],
    secrets: authSecrets.map((field) => `auth_config.${field}`),
    opaque: ['tags'],
    immutable: ['slug', 'manager_type'],
    merged: ['auth_config'],
    sets: ['allowed_workspaces'],
    ...collection('/admin/v2/secret-references'),
    makeBody: async () => (await import('../secrets/secret-reference.ts')).makeSecretReferenceSpec(),
  },

  McpIntegration: {
    plural: 'mcp-integrations',
    ...plain,
    workspaced: 'optional',
    references: [workspaceReference, grantedWorkspace, mappedSecrets],
    secrets: mcpSecrets.map((pattern) => `configurations.${pattern}`),
    secretsGoWith: ['url'],
    opaque: [
      'configurations.custom_headers',
      'configurations.headers',
      'configurations.passthrough_header',
      'configurations.passthrough_headers',
    ],
    immutable: ['slug', 'workspace_id'],
    sets: ['workspaces', 'disabled_capabilities'],
    ...collection('/admin/v2/mcp-integrations'),
    makeBody: async () => (await import('../mcp/mcp-integration.ts')).McpIntegrationCreate.strict(),
  },

  McpServer: {
    plural: 'mcp-servers',
    ...plain,
    workspaced: 'required',
    references: [
      workspaceReference,
      {
        path: 'mcp_integration_id',
        manifestField: 'mcpIntegrationRef',
        kind: 'McpIntegration',
        by: 'id',
      },
    ],
    immutable: ['mcp_integration_id', 'workspace_id', 'slug'],
    sets: ['disabled_capabilities', 'user_access'],
    ...collection('/v2/mcp-servers'),
    makeBody: async () => (await import('../mcp/mcp-server.ts')).McpServerCreate.strict(),
  },

  GuardrailMcpBinding: {
    plural: 'guardrail-mcp-bindings',
    ...plain,
    workspaced: 'optional',
    references: [
      { path: 'guardrail_id', manifestField: 'guardrailRef', kind: 'Guardrail', by: 'id' },
      { path: 'mcp_server_id', manifestField: 'mcpServerRef', kind: 'McpServer', by: 'id' },
    ],
    immutable: ['guardrail_id', 'mcp_server_id'],
    sets: ['run_on', 'mcp_integration_capability_ids'],
    ...bindingAddress,
    makeBody: async () => (await import('../guardrails/guardrail-mapping.ts')).makeGuardrailMappingSpec(),
  },

  UsageLimitPolicy: {
    plural: 'usage-limit-policies',
    ...plain,
    workspaced: 'required',
    references: policyReferences,
    immutable: ['workspace_id'],
    sets: ['conditions'],
    ...collection('/v2/policies/usage-limits'),
    makeBody: async () => (await import('../limits/usage-limit-policy.ts')).makeUsageLimitPolicySpec(),
  },

  RateLimitPolicy: {
    plural: 'rate-limit-policies',
    ...plain,
    workspaced: 'required',
    references: policyReferences,
    immutable: ['target', 'workspace_id'],
    sets: ['conditions'],
    ...collection('/v2/policies/rate-limits'),
    makeBody: async () => (await import('../limits/rate-limit-policy.ts')).makeRateLimitPolicySpec(),
  },

  Integration: {
    plural: 'integrations',
    ...plain,
    workspaced: 'optional',
    references: [workspaceReference, grantedWorkspace, mappedSecrets],
    secrets: [
      'key',
      ...configurationSecrets.map((pattern) => `configurations.${pattern}`),
      'models.*.configurations.custom_headers.*',
    ],
    opaque: ['configurations', 'tags', 'models.*.configurations'],
    immutable: ['slug', 'ai_provider_id', 'workspace_id'],
    sets: ['workspaces'],
    ...collection('/admin/v2/integrations'),
    makeBody: async () => (await import('../providers/integration.ts')).IntegrationCreate.strict(),
  },

  Provider: {
    plural: 'providers',
    ...plain,
    workspaced: 'required',
    references: [
      workspaceReference,
      { path: 'integration_id', manifestField: 'integrationRef', kind: 'Integration', by: 'id' },
    ],
    immutable: ['integration_id', 'workspace_id', 'slug'],
    sets: ['rate_limits'],
    ...collection('/v2/providers'),
    makeBody: async () => (await import('../providers/provider.ts')).ProviderCreate.strict(),
  },

  PromptLabel: {
    plural: 'prompt-labels',
    ...plain,
    workspaced: 'optional',
    references: [workspaceReference],
    immutable: ['workspace_id'],
    ...collection('/v2/labels'),
    makeBody: async () => (await import('../prompts/prompt-label.ts')).PromptLabelCreate.strict(),
  },

  PromptCollection: {
    plural: 'prompt-collections',
    ...plain,
    workspaced: 'required',
    references: [
      workspaceReference,
      {
        path: 'parent_collection_id',
        manifestField: 'parentCollectionRef',
        kind: 'PromptCollection',
        by: 'id',
      },
    ],
    immutable: ['slug', 'workspace_id'],
    ...collection('/v2/collections'),
    makeBody: async () => (await import('../prompts/prompt-collection.ts')).PromptCollectionCreate.strict(),
  },

  PromptPartial: {
    plural: 'prompt-partials',
    ...plain,
    workspaced: 'optional',
    references: [workspaceReference],
    immutable: ['slug', 'workspace_id'],
    ...collection('/v2/prompts/partials'),
    makeBody: async () => (await import('../prompts/prompt-partial.ts')).PromptPartialCreate.strict(),
  },

  Prompt: {
    plural: 'prompts',
    ...plain,
    workspaced: 'required',
    references: [
      workspaceReference,
      {
        path: 'collection_id',
        manifestField: 'collectionRef',
        kind: 'PromptCollection',
        by: 'id',
      },
      { path: 'virtual_key', manifestField: 'providerRef', kind: 'Provider', by: 'slug' },
    ],
    opaque: ['parameters', 'functions', 'tools', 'tool_choice', 'template_metadata'],
    immutable: ['slug', 'workspace_id'],
    ...collection('/v2/prompts'),
    makeBody: async () => (await import('../prompts/prompt.ts')).PromptCreate.strict(),
  },

  OrganisationDefaults: {
    plural: 'organisation-defaults',
    ...plain,
    workspaced: 'none',
    isOnlyOne: true,
    references: defaultGuardrails,
    opaque: ['export_settings'],
    immutable: [],
    sets: ['export_settings.deniedFields'],
    ...defaultsAddress,
    makeBody: async () =>
      (await import('../workspaces/organisation-defaults.ts')).OrganisationDefaults.strict(),
  },

  GuardrailExclusion: {
    plural: 'guardrail-exclusions',
    ...plain,
    workspaced: 'required',
    isOnlyOne: true,
    references: [workspaceReference],
    immutable: ['workspace_id'],
    ...collection('/v2/guardrail-exclusions'),
    makeBody: async () =>
      (await import('../guardrails/guardrail-exclusion.ts')).GuardrailExclusionCreate.strict(),
  },

  WorkspaceGuardrails: {
    plural: 'workspace-guardrails',
    ...plain,
    workspaced: 'required',
    isOnlyOne: true,
    references: [workspaceReference, ...workspaceGuardrails],
    immutable: ['workspace_id'],
    ...workspaceGuardrailsAddress,
    makeBody: async () => (await import('../workspaces/workspace-guardrails.ts')).makeWorkspaceGuardrailsSpec(),
  },

  Deployment: {
    plural: 'deployments',
    ...plain,
    workspaced: 'none',
    references: servedWorkspaces,
    opaque: ['tags', 'deployment_config', 'auth_settings.jwt_sub_workspace_mapping'],
    immutable: ['slug'],
    merged: ['auth_settings'],
    sets: ['auth_settings.workspaces_allowed', 'auth_settings.jwt_subs_allowed'],
    ...collection('/v2/deployments'),
    makeBody: async () => (await import('../workspaces/gateway-deployment.ts')).DeploymentCreate.strict(),
  },

  ScimMapping: {
    plural: 'scim-mappings',
    ...plain,
    workspaced: 'required',
    title: 'scim_group_name',
    references: [workspaceReference],
    immutable: ['workspace_id', 'scim_group_name'],
    ...collection('/v2/scim/workspaces'),
    makeBody: async () => (await import('../people/scim-mapping.ts')).makeScimMappingSpec(),
  },
};
