/** Defines reference fields of kinds: shared ones, those in many places of a kind, and long ones. */

/** `metadata.workspace`, which the bodies of most kinds carry as `workspace_id`. */
export const workspaceReference = {
  path: 'workspace_id',
  manifestField: '',
  kind: 'Workspace',
  by: 'id',
} as const;

/** Names of the fields that list guardrails. */
export const guardrailFields = ['input_guardrails', 'output_guardrails'] as const;

/** Lists of guardrails of an organisation or a workspace: for model requests, and for calls of MCP tools. */
export const defaultGuardrailFields = [
  ...guardrailFields,
  'mcp_input_guardrails',
  'mcp_output_guardrails',
] as const;

/** Names of the fields that list hooks, which name a guardrail by `id`. */
export const hookFields = ['before_request_hooks', 'after_request_hooks'] as const;

/** Guardrails of a config: on the root document and on every target below it. */
export const configGuardrailReferences = [
  ...guardrailFields.map((side) => `config.**.${side}.*`),
  ...hookFields.map((side) => `config.**.${side}.*.id`),
].map((path) => ({ path, manifestField: 'guardrailRef', kind: 'Guardrail', by: 'slug' }) as const);

/** Providers of a config: on the root document and on every target below it, and those of their caches. */
export const configProviderReferences = [
  'config.provider',
  'config.**.targets.*.provider',
  'config.cache.embedding.provider',
  'config.**.targets.*.cache.embedding.provider',
].map(
  (path) =>
    ({ path, manifestField: 'providerRef', kind: 'Provider', by: 'slug', prefix: '@' }) as const,
);

/** Guardrails that apply in every workspace. */
export const defaultGuardrailReferences = defaultGuardrailFields.map(
  (side) =>
    ({ path: `${side}.*`, manifestField: 'guardrailRef', kind: 'Guardrail', by: 'id' }) as const,
);

/** Guardrails that apply in one workspace; each is stored by id or slug, as it was sent. */
export const workspaceGuardrailReferences = defaultGuardrailFields.map(
  (side) =>
    ({ path: `${side}.*`, manifestField: 'guardrailRef', kind: 'Guardrail', by: 'slug' }) as const,
);

/** Keys and workspaces in the conditions of policies. */
export const policyReferences = [
  workspaceReference,
  { path: 'conditions.*.value', manifestField: 'apiKeyRef', kind: 'ApiKey', by: 'id' },
  { path: 'conditions.*.value', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
  { path: 'conditions.*.excludes.*', manifestField: 'apiKeyRef', kind: 'ApiKey', by: 'id' },
  { path: 'conditions.*.excludes.*', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
] as const;

/** Workspaces that may use an integration of the organisation. */
export const grantedWorkspaceReference = {
  path: 'workspaces.*.id',
  manifestField: 'workspaceRef',
  kind: 'Workspace',
  by: 'id',
} as const;

/** Workspaces of a deployment: those that it serves and those to which token subjects are mapped. */
export const servedWorkspaceReferences = ['workspaces_allowed', 'jwt_sub_workspace_mapping'].map(
  (field) =>
    ({
      path: `auth_settings.${field}.*`,
      manifestField: 'workspaceRef',
      kind: 'Workspace',
      by: 'id',
    }) as const,
);

/** Secret references that supply fields of an integration. */
export const mappedSecretReference = {
  path: 'secret_mappings.*.secret_reference_id',
  manifestField: 'secretReferenceRef',
  kind: 'SecretReference',
  by: 'id',
} as const;

/** Integration of an MCP server. */
export const mcpIntegrationReference = {
  path: 'mcp_integration_id',
  manifestField: 'mcpIntegrationRef',
  kind: 'McpIntegration',
  by: 'id',
} as const;

/** Parent of a prompt collection. */
export const parentCollectionReference = {
  path: 'parent_collection_id',
  manifestField: 'parentCollectionRef',
  kind: 'PromptCollection',
  by: 'id',
} as const;

/** Workspace, collection and provider of a prompt. */
export const promptReferences = [
  workspaceReference,
  {
    path: 'collection_id',
    manifestField: 'collectionRef',
    kind: 'PromptCollection',
    by: 'id',
  },
  { path: 'virtual_key', manifestField: 'providerRef', kind: 'Provider', by: 'slug' },
] as const;
