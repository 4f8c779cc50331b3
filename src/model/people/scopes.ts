/** Knows every permission scope, which roles hold which, and when one set of scopes covers another. */

const crud = ['create', 'read', 'update', 'delete', 'list'] as const;
const keyActions = [...crud, 'rotate'] as const;

/** Actions by resource (docs/reference/access.md, Scopes); `access_policies`, `iam_scopes` and `managed_resources` are of this project. */
const catalogue: Readonly<Record<string, readonly string[]>> = {
  completions: ['write'],
  mcp: ['invoke'],
  agents: ['invoke'],
  logs: ['write', 'view', 'list', 'export'],
  audit_logs: ['list'],
  analytics: ['view'],
  configs: crud,
  prompts: [...crud, 'publish', 'render'],
  providers: crud,
  virtual_keys: [...crud, 'copy', 'duplicate'],
  policies: crud,
  guardrails: [...crud, 'invoke'],
  organisation_guardrails: crud,
  organisation_settings: ['read', 'update'],
  organisation_exclusions: ['list', 'update'],
  workspaces: crud,
  workspace_users: crud,
  organisation_users: crud,
  organisation_service_api_keys: keyActions,
  organisation_user_api_keys: keyActions,
  workspace_service_api_keys: keyActions,
  workspace_user_api_keys: keyActions,
  organisation_integrations: crud,
  workspace_integrations: crud,
  organisation_mcp_integrations: crud,
  workspace_mcp_integrations: crud,
  mcp_servers: crud,
  secret_references: crud,
  deployments: crud,
  access_policies: ['create', 'delete', 'list'],
  iam_scopes: crud,
  /** To write `managed_by`: to say which resources a sync owns, and to remove them in its name. */
  managed_resources: ['claim'],
};

/** Every scope in its dotted form, `<resource>.<action>`. */
export const allScopes: readonly string[] = Object.entries(catalogue).flatMap(
  ([resource, actions]) => actions.map((action) => `${resource}.${action}`),
);

const known = new Set(allScopes);

/** The dotted form: published texts write `deployments.list` and `deployments:list` for one scope. */
function canonical(scope: string): string {
  return scope.replace(/^deployments:/, 'deployments.');
}

/** Whether the scope exists, in either spelling. */
export function isKnownScope(scope: string): boolean {
  return known.has(canonical(scope));
}

/** Whether `held` grants `wanted`. No scope implies another: list does not imply read. */
export function covers(held: readonly string[], wanted: string): boolean {
  if (held.includes(wanted)) return true;
  const scope = canonical(wanted);
  return held.some((own) => canonical(own) === scope);
}

/** Those of `wanted` that `held` does not grant: not empty means a key would exceed its creator. */
export function scopesBeyond(held: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((scope) => !covers(held, scope));
}

const readingActions = new Set(['read', 'list', 'view']);

/** What a workspace has of its own, and what is done in it. */
const ofWorkspaces = new Set([
  ...['completions', 'mcp', 'agents', 'logs', 'analytics', 'configs', 'prompts', 'providers'],
  ...['virtual_keys', 'policies', 'guardrails', 'workspaces', 'workspace_users', 'mcp_servers'],
  ...['workspace_service_api_keys', 'workspace_user_api_keys', 'workspace_integrations'],
  'workspace_mcp_integrations',
]);
/** What is used in a workspace, and belongs to the organisation. */
const usedInWorkspaces = new Set(['secret_references.read', 'secret_references.list']);
const notOfWorkspaces = new Set(['workspaces.create', 'workspaces.delete']);
/** What members do beside reading. */
const ofMembers = new Set(['write', 'invoke', 'render']);

const workspaceScopes = allScopes.filter((scope) => {
  const isOwn = ofWorkspaces.has(scope.split('.')[0]!) && !notOfWorkspaces.has(scope);
  return isOwn || usedInWorkspaces.has(scope);
});

/** By the role that somebody has in a workspace (docs/reference/access.md, Sign-in). */
const memberScopes = {
  admin: workspaceScopes,
  manager: workspaceScopes.filter((scope) => scope !== 'workspaces.update'),
  member: workspaceScopes.filter((scope) => {
    const [resource = '', action = ''] = scope.split('.');
    if (resource === 'workspace_service_api_keys') return false;
    const isReading = readingActions.has(action) || ofMembers.has(action);
    // Whether they write prompts, their workspace says.
    return isReading || resource === 'workspace_user_api_keys' || resource === 'prompts';
  }),
} as const;

export function scopesOfMember(role: keyof typeof memberScopes): readonly string[] {
  return memberScopes[role];
}

/** Roles that exist without being defined by a tenant. */
const builtInRoles: Readonly<Record<string, readonly string[]>> = {
  superuser: allScopes,
  view_only_admin: allScopes.filter((scope) => readingActions.has(scope.split('.')[1]!)),
};

/**
 * Scopes of a role. A role that this deployment does not define (such as `<role_slug>:<tsg_id>`)
 * can be assigned but grants nothing.
 */
export function scopesOfRole(role: string): readonly string[] {
  return Object.hasOwn(builtInRoles, role) ? builtInRoles[role]! : [];
}

/** What several roles grant together, without repeats, in the order of the catalogue. */
export function scopesOfRoles(roles: readonly string[]): string[] {
  const held = new Set(roles.flatMap(scopesOfRole));
  return allScopes.filter((scope) => held.has(scope));
}
