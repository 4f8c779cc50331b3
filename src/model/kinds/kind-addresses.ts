/** Defines the requests that create, update and delete the resources of a kind. */

/** `body` is the resolved wire spec, `id` the resource's id. */
export interface KindAddress {
  readonly create: (body: Record<string, unknown>) => { method: 'POST' | 'PUT'; path: string };
  readonly item: (id: string, body: Record<string, unknown>) => string;
  /** Fields of the body that are part of the path and not sent. */
  readonly pathFields: readonly string[];
  /** Whether these fields identify the resource instead of its id. */
  readonly isNamedByPathFields: boolean;
}

const byId = { pathFields: [], isNamedByPathFields: false } as const;

/** Address of resources that are created by POST to a collection and changed by PUT or DELETE on `/{id}`. */
export function collection(path: string): KindAddress {
  return {
    create: () => ({ method: 'POST', path }),
    item: (id) => `${path}/${encodeURIComponent(id)}`,
    ...byId,
  };
}

export const keyAddress: KindAddress = {
  ...byId,
  create: ({ type, sub_type: subType }) => ({
    method: 'POST',
    path: `/v1/api-keys/${type}/${subType}`,
  }),
  item: (id) => `/v1/api-keys/${encodeURIComponent(id)}`,
  pathFields: ['type', 'sub_type'],
};

export const bindingAddress: KindAddress = {
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

export const defaultsAddress: KindAddress = {
  ...byId,
  create: () => ({ method: 'PUT', path: defaultsPath }),
  item: () => defaultsPath,
};

/** The id of workspace guardrails is the id of their workspace. */
export const workspaceGuardrailsAddress: KindAddress = {
  ...byId,
  create: ({ workspace_id: id }) => ({ method: 'PUT', path: guardrailsPath(String(id)) }),
  item: guardrailsPath,
  pathFields: ['workspace_id'],
};

function guardrailsPath(workspaceId: string): string {
  return `/v2/workspaces/${encodeURIComponent(workspaceId)}/guardrails`;
}
