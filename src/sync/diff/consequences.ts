/**
 * Describes the server's defaults for removed fields, and what is lost when a resource is replaced.
 */
import type { KindName } from '../../model/kinds/kinds.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import type { SpecJson } from '../resources/resource-set.ts';

const budget = {
  alert_threshold: 'no alert',
  on_outage_allowance: 'requests are refused',
  periodic_reset: 'no reset',
  type: 'cost',
};

function below(prefix: string, fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([field, words]) => [`${prefix}${field}`, words]),
  );
}

const limits = { usage_limits: 'no budget', rate_limits: 'no rate limit' };
const inheritedLimits = {
  usage_limits: 'that of global_workspace_access',
  rate_limits: 'those of global_workspace_access',
};
const openAccess = {
  'global_workspace_access.enabled': 'true',
  global_workspace_access: 'every workspace',
  workspaces: 'none',
};
const texts = { description: 'none', icon: 'none' };

/** By path in the spec: the value in force when nothing is set. */
const defaults: Readonly<Record<KindName, Readonly<Record<string, string>>>> = {
  Workspace: {
    ...texts,
    ...limits,
    ...below('usage_limits.', budget),
    'defaults.metadata': 'none',
    'defaults.allow_config_override': 'true',
    scope_name: 'the slug',
  },
  Guardrail: {
    target: 'llm',
    actions: 'nothing is denied',
    workspace_id: 'the organisation',
    'checks.*.is_enabled': 'true',
  },
  Config: {
    slug: 'the name of the manifest',
    isServerDefault: '0',
    workspace_id: 'the organisation',
  },
  ApiKey: {
    ...texts,
    ...limits,
    ...below('usage_limits.', budget),
    'defaults.metadata': 'none',
    'defaults.config_id': 'no config',
    'defaults.allow_config_override': 'true',
    alert_emails: 'nobody',
    expires_at: 'never',
    rotation_policy: 'no rotation',
    workspace_id: 'the organisation',
  },
  SecretReference: {
    ...texts,
    secret_key: 'the whole secret',
    allow_all_workspaces: 'false',
    allowed_workspaces: 'no workspace',
    allowed_hosts: 'the own addresses of services',
    tags: 'none',
    slug: 'generated from the name',
  },
  McpIntegration: {
    ...texts,
    slug: 'generated from the name',
    configurations: 'none',
    secret_mappings: 'none',
    ...openAccess,
    disabled_capabilities: 'none',
    definition_policy: 'observe',
    disabled_client_capabilities: 'none',
    approved_definitions: 'those approved so far',
    workspace_id: 'the organisation',
  },
  McpServer: {
    ...texts,
    slug: 'generated from the name',
    default_user_access: 'allow',
    user_access: 'nobody by name',
    disabled_capabilities: 'none',
    definition_policy: 'observe',
    disabled_client_capabilities: 'none',
  },
  GuardrailMcpBinding: {
    run_on: 'input and output',
    mcp_integration_capability_ids: 'all capabilities',
  },
  UsageLimitPolicy: { ...texts, ...budget, workspace_id: 'the organisation' },
  RateLimitPolicy: { ...texts, target: 'llm' },
  Integration: {
    ...texts,
    ...below('workspaces.*.', inheritedLimits),
    ...below('global_workspace_access.', limits),
    ...below('global_workspace_access.usage_limits.', budget),
    ...below('workspaces.*.usage_limits.', budget),
    slug: 'the name of the manifest',
    key: 'none',
    configurations: 'none',
    secret_mappings: 'none',
    pricing_adjustments: 'none',
    tags: 'none',
    capabilities: 'auto',
    'capabilities.*': 'auto',
    allow_all_models: 'true',
    models: 'none',
    ...openAccess,
    workspace_id: 'the organisation',
  },
  Provider: {
    ...limits,
    ...below('usage_limits.', budget),
    note: 'none',
    slug: 'the name of the manifest',
    expires_at: 'never',
  },
  PromptLabel: { description: 'none', color_code: 'none', workspace_id: 'the organisation' },
  PromptCollection: { slug: 'generated from the name', parent_collection_id: 'no other' },
  PromptPartial: {
    slug: 'generated from the name',
    workspace_id: 'the organisation',
    version_description: 'none',
  },
  Prompt: {
    slug: 'generated from the name',
    collection_id: 'the default collection',
    virtual_key: 'the provider of the caller',
    parameters: 'none',
    functions: 'none',
    tools: 'none',
    tool_choice: 'none',
    template_metadata: 'none',
    is_raw_template: '0',
    version_description: 'none',
  },
  OrganisationDefaults: {
    input_guardrails: 'none',
    output_guardrails: 'none',
    mcp_input_guardrails: 'none',
    mcp_output_guardrails: 'none',
    export_settings: 'every field',
    api_key_max_ttl_days: 'no limit',
  },
  GuardrailExclusion: { input_guardrails: 'false', output_guardrails: 'false' },
  WorkspaceGuardrails: {
    input_guardrails: 'none',
    output_guardrails: 'none',
    mcp_input_guardrails: 'none',
    mcp_output_guardrails: 'none',
  },
  Deployment: {
    slug: 'generated from the name',
    type: 'production',
    is_default: 'false',
    tags: 'none',
    deployment_config: 'none',
    source_type: 'none',
    'auth_settings.workspaces_allowed': 'every workspace',
    'auth_settings.*': 'not set',
  },
  ScimMapping: {},
  ServiceAccount: {
    ...texts,
    status: 'active',
    rotation_policy: 'no rotation',
    workspace_id: 'the whole tenant',
  },
  TenantServiceGroup: texts,
};

/** Describes the default to which a removed field returns. */
export function defaultText(kind: KindName, segments: readonly string[]): string {
  const found = Object.entries(defaults[kind]).find(([pattern]) =>
    matchesPattern(pattern, segments),
  );
  return found?.[1] ?? 'not set';
}

/**
 * Returns whether a value is the server's own default; `input and output` stands for a list of the
 * two.
 */
export function isDefault(kind: KindName, segments: readonly string[], value: SpecJson): boolean {
  return [value].flat().join(' and ') === defaultText(kind, segments);
}

/** Lists what is lost when a resource is deleted and created again, besides the fields in the plan. */
const endings: Readonly<Record<KindName, readonly string[]>> = {
  Workspace: ['its id and slug', 'the usage counted for it'],
  Guardrail: ['its id and slug'],
  Config: ['its id and slug', 'its former versions'],
  ApiKey: ['its id', "the key's value (a new one is made)", 'the usage counted for it'],
  SecretReference: ['its id'],
  McpIntegration: ['its id', 'the discovered capabilities of its server'],
  McpServer: ['its id', 'the tokens of its users'],
  GuardrailMcpBinding: ['its id'],
  UsageLimitPolicy: ['its id', 'the usage counted by it'],
  RateLimitPolicy: ['its id', 'the requests counted in the current window'],
  Integration: ['its id', 'the usage counted for workspaces in it'],
  Provider: ['its id', 'the usage counted for it'],
  PromptLabel: ['its id', 'its assignment to versions'],
  PromptCollection: ['its id'],
  PromptPartial: ['its id', 'its former versions'],
  Prompt: ['its id', 'its former versions and their labels'],
  OrganisationDefaults: [],
  GuardrailExclusion: ['its id'],
  WorkspaceGuardrails: [],
  Deployment: ['its id and slug', 'the secret by which it authenticates'],
  ScimMapping: ['its id', 'the memberships created by it, with their keys'],
  ServiceAccount: ['its id', 'its client secret (a new one is made)', 'its tokens'],
  TenantServiceGroup: ['its id and TSG id'],
};

export function endsWithReplace(kind: KindName): readonly string[] {
  return endings[kind];
}
