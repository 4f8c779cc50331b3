/** Knows every manifest kind: the fields that refer to others, and how its API is addressed. */
export const kindNames = [
  'Workspace',
  'Guardrail',
  'Config',
  'ApiKey',
  'McpIntegration',
  'McpServer',
  'GuardrailMcpBinding',
  'UsageLimitPolicy',
] as const;

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
export interface Kind {
  readonly name: KindName;
  readonly workspaced: 'none' | 'required' | 'optional';
  readonly references: readonly ReferenceField[];
  /** Write-only values: given by `valueFrom`, compared by fingerprint, never printed. */
  readonly secrets: readonly string[];
  /** Subtrees copied as written, without camelCase conversion. */
  readonly opaque: readonly string[];
  /** Top-level fields that cannot be changed in place: a difference means replace. */
  readonly immutable: readonly string[];
  /** Top-level objects that the API merges by key: cleared keys must be sent as null. */
  readonly merged: readonly string[];
  /** Lists whose order means nothing. */
  readonly sets: readonly string[];
  /** Requests that act on it; `body` is the resolved wire spec, `id` the resource's id. */
  readonly create: (body: Record<string, unknown>) => { method: 'POST' | 'PUT'; path: string };
  readonly item: (id: string, body: Record<string, unknown>) => string;
  /** Body fields that live in the path only and are not sent. */
  readonly pathFields: readonly string[];
}

/** `metadata.workspace`, as the body of nearly every kind carries it. */
const workspaceReference: ReferenceField = {
  path: 'workspace_id',
  manifestField: '',
  kind: 'Workspace',
  by: 'id',
};

/** Lists of a resource whose requests are POST to a collection and PUT or DELETE on `/{id}` below it. */
function collection(path: string): Pick<Kind, 'create' | 'item' | 'pathFields'> {
  return {
    create: () => ({ method: 'POST', path }),
    item: (id) => `${path}/${encodeURIComponent(id)}`,
    pathFields: [],
  };
}

const workspace: Kind = {
  name: 'Workspace',
  workspaced: 'none',
  references: [],
  secrets: [],
  opaque: ['defaults.metadata'],
  immutable: ['scope_name'],
  merged: ['defaults'],
  sets: [],
  ...collection('/admin/v2/workspaces'),
};

const guardrail: Kind = {
  name: 'Guardrail',
  workspaced: 'optional',
  references: [workspaceReference],
  secrets: [],
  opaque: ['checks.*.parameters', 'actions'],
  immutable: ['target', 'workspace_id'],
  merged: [],
  sets: [],
  ...collection('/v2/guardrails'),
};

/** Guardrails of a config stand on the root document and on every target below it. */
const configGuardrails: ReferenceField[] = ['input_guardrails', 'output_guardrails'].map(
  (field) => ({
    path: `config.**.${field}.*`,
    manifestField: 'guardrailRef',
    kind: 'Guardrail',
    by: 'slug',
  }),
);

const config: Kind = {
  name: 'Config',
  workspaced: 'optional',
  references: [workspaceReference, ...configGuardrails],
  secrets: [],
  opaque: ['config'],
  immutable: ['workspace_id'],
  merged: [],
  sets: [],
  ...collection('/v2/configs'),
};

const apiKey: Kind = {
  name: 'ApiKey',
  workspaced: 'optional',
  references: [
    workspaceReference,
    { path: 'defaults.config_id', manifestField: 'configRef', kind: 'Config', by: 'id' },
  ],
  secrets: [],
  opaque: ['defaults.metadata'],
  immutable: ['type', 'sub_type', 'user_id', 'workspace_id'],
  merged: ['defaults'],
  sets: ['scopes', 'alert_emails', 'rate_limits'],
  create: ({ type, sub_type: subType }) => ({
    method: 'POST',
    path: `/v1/api-keys/${type}/${subType}`,
  }),
  item: (id) => `/v1/api-keys/${encodeURIComponent(id)}`,
  pathFields: ['type', 'sub_type'],
};

const mcpIntegration: Kind = {
  name: 'McpIntegration',
  workspaced: 'optional',
  references: [workspaceReference],
  secrets: ['configurations.custom_headers.*', 'configurations.headers.*'],
  opaque: [
    'configurations.custom_headers',
    'configurations.headers',
    'configurations.passthrough_header',
    'configurations.passthrough_headers',
  ],
  immutable: ['slug', 'workspace_id'],
  merged: [],
  sets: [],
  ...collection('/admin/v2/mcp-integrations'),
};

const mcpServer: Kind = {
  name: 'McpServer',
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
  secrets: [],
  opaque: [],
  immutable: ['mcp_integration_id', 'workspace_id', 'slug'],
  merged: [],
  sets: [],
  ...collection('/v2/mcp-servers'),
};

function bindingPath(body: Record<string, unknown>): string {
  const guardrailId = encodeURIComponent(String(body.guardrail_id));
  const serverId = encodeURIComponent(String(body.mcp_server_id));
  return `/admin/v2/guardrails/${guardrailId}/mcp-servers/${serverId}`;
}

const guardrailMcpBinding: Kind = {
  name: 'GuardrailMcpBinding',
  workspaced: 'optional',
  references: [
    { path: 'guardrail_id', manifestField: 'guardrailRef', kind: 'Guardrail', by: 'id' },
    { path: 'mcp_server_id', manifestField: 'mcpServerRef', kind: 'McpServer', by: 'id' },
  ],
  secrets: [],
  opaque: [],
  immutable: ['guardrail_id', 'mcp_server_id'],
  merged: [],
  sets: ['run_on', 'mcp_integration_capability_ids'],
  create: (body) => ({ method: 'PUT', path: bindingPath(body) }),
  item: (_, body) => bindingPath(body),
  pathFields: ['guardrail_id', 'mcp_server_id'],
};

const usageLimitPolicy: Kind = {
  name: 'UsageLimitPolicy',
  workspaced: 'optional',
  references: [
    workspaceReference,
    { path: 'conditions.*.value', manifestField: 'apiKeyRef', kind: 'ApiKey', by: 'id' },
    { path: 'conditions.*.value', manifestField: 'workspaceRef', kind: 'Workspace', by: 'id' },
  ],
  secrets: [],
  opaque: [],
  immutable: ['workspace_id'],
  merged: [],
  sets: ['conditions'],
  ...collection('/v2/policies/usage-limits'),
};

export const kinds: Readonly<Record<KindName, Kind>> = {
  Workspace: workspace,
  Guardrail: guardrail,
  Config: config,
  ApiKey: apiKey,
  McpIntegration: mcpIntegration,
  McpServer: mcpServer,
  GuardrailMcpBinding: guardrailMcpBinding,
  UsageLimitPolicy: usageLimitPolicy,
};
