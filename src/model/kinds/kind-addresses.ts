/** Knows how the resources of each kind are addressed: the requests that make, change and delete one. */

/** `body` is the resolved wire spec, `id` the resource's id. */
export interface Addressed {
  readonly create: (body: Record<string, unknown>) => { method: 'POST' | 'PUT'; path: string };
  readonly item: (id: string, body: Record<string, unknown>) => string;
  /** Body fields that live in the path only and are not sent. */
  readonly pathFields: readonly string[];
  /** Whether they alone say which resource is meant, in place of its id. */
  readonly isNamedByPathFields: boolean;
}

const byId = { pathFields: [], isNamedByPathFields: false } as const;

/** Lists of a resource whose requests are POST to a collection and PUT or DELETE on `/{id}` below it. */
export function collection(path: string): Addressed {
  return {
    create: () => ({ method: 'POST', path }),
    item: (id) => `${path}/${encodeURIComponent(id)}`,
    ...byId,
  };
}

export const keyAddress: Addressed = {
  ...byId,
  create: ({ type, sub_type: subType }) => ({
    method: 'POST',
    path: `/v1/api-keys/${type}/${subType}`,
  }),
  item: (id) => `/v1/api-keys/${encodeURIComponent(id)}`,
  pathFields: ['type', 'sub_type'],
};

export const bindingAddress: Addressed = {
  create: (body) => ({ method: 'PUT', path: bindingPath(body) }),
  item: (_, body) => bindingPath(body),
  pathFields: ['guardrail_id', 'mcp_server_id'],
  isNamedByPathFields: true,
};

function bindingPath(body: Record<string, unknown>): string {
  const guardrailId = encodeURIComponent(String(body.guardrail_id));
  const serverId = encodeURIComponent(String(body.mcp_server_id));
  return `/admin/v2/guardrails/${guardrailId}/mcp-servers/${serverId}`;
}

const defaultsPath = '/v2/admin/organisation/defaults';

export const defaultsAddress: Addressed = {
  ...byId,
  create: () => ({ method: 'PUT', path: defaultsPath }),
  item: () => defaultsPath,
};

/** They have the id of their workspace. */
export const workspaceGuardrailsAddress: Addressed = {
  ...byId,
  create: ({ workspace_id: id }) => ({ method: 'PUT', path: guardrailsPath(String(id)) }),
  item: guardrailsPath,
  pathFields: ['workspace_id'],
};

function guardrailsPath(workspaceId: string): string {
  return `/v2/workspaces/${encodeURIComponent(workspaceId)}/guardrails`;
}
