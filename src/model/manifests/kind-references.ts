/** Knows the fields that refer to others in several kinds, or in many places of one. */

/** `metadata.workspace`, as the body of nearly every kind carries it. */
export const workspaceReference = {
  path: 'workspace_id',
  manifestField: '',
  kind: 'Workspace',
  by: 'id',
} as const;

/** Fields that name guardrails, wherever a body holds them. */
export const guardrailSides = ['input_guardrails', 'output_guardrails'] as const;

/** Guardrails of a config stand on the root document and on every target below it. */
export const configGuardrails = guardrailSides.map(
  (side) =>
    ({
      path: `config.**.${side}.*`,
      manifestField: 'guardrailRef',
      kind: 'Guardrail',
      by: 'slug',
    }) as const,
);

/** Guardrails that hold in every workspace. */
export const defaultGuardrails = guardrailSides.map(
  (side) =>
    ({ path: `${side}.*`, manifestField: 'guardrailRef', kind: 'Guardrail', by: 'id' }) as const,
);

/** Guardrails that hold in one workspace; there by id or slug, as they were named. */
export const workspaceGuardrails = guardrailSides.map(
  (side) =>
    ({ path: `${side}.*`, manifestField: 'guardrailRef', kind: 'Guardrail', by: 'slug' }) as const,
);

/** Keys and workspaces that policies are about. */
export const policyReferences = [
  workspaceReference,
  { path: 'conditions.*.value', manifestField: 'apiKeyRef', kind: 'ApiKey', by: 'id' },
  { path: 'conditions.*.value', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
  { path: 'conditions.*.excludes.*', manifestField: 'apiKeyRef', kind: 'ApiKey', by: 'id' },
  { path: 'conditions.*.excludes.*', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
] as const;

/** Of the workspaces that may use an integration of the organisation. */
export const grantedWorkspace = {
  path: 'workspaces.*.id',
  manifestField: 'workspaceRef',
  kind: 'Workspace',
  by: 'id',
} as const;

/** Of a deployment: those that it serves, and those of the subjects of tokens. */
export const servedWorkspaces = ['workspaces_allowed', 'jwt_sub_workspace_mapping'].map(
  (field) =>
    ({
      path: `auth_settings.${field}.*`,
      manifestField: 'workspaceRef',
      kind: 'Workspace',
      by: 'id',
    }) as const,
);

/** Of the fields of an integration that a secret manager keeps. */
export const mappedSecrets = {
  path: 'secret_mappings.*.secret_reference_id',
  manifestField: 'secretReferenceRef',
  kind: 'SecretReference',
  by: 'id',
} as const;
