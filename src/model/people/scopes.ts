/** Lists every permission scope, maps roles to scopes, and compares sets of scopes. */

const crud = ['create', 'read', 'update', 'delete', 'list'] as const;
const keyActions = [...crud, 'rotate'] as const;

/** Actions by resource (docs/reference/access.md, Scopes); `access_policies`, `iam_scopes`, `service_accounts`, `tsgs` and `managed_resources` are specific to this project. */
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
  service_accounts: keyActions,
  tsgs: crud,
  /** Allows writing `managed_by`: declaring which resources a sync owns, and deleting them as their owner. */
  managed_resources: ['claim'],
};

/** Every scope in its dotted form, `<resource>.<action>`. */
export const allScopes: readonly string[] = Object.entries(catalogue).flatMap(
  ([resource, actions]) => actions.map((action) => `${resource}.${action}`),
);

const known = new Set(allScopes);

/** The dotted form; published documents write both `deployments.list` and `deployments:list`. */
function canonical(scope: string): string {
  return scope.replace(/^deployments:/, 'deployments.');
}

/** Whether the scope exists, in either spelling. */
export function isKnownScope(scope: string): boolean {
  return known.has(canonical(scope));
}

/** Whether the granted scopes include `required`. No scope implies another: list does not imply read. */
export function grantsScope(granted: readonly string[], required: string): boolean {
  if (granted.includes(required)) return true;
  const scope = canonical(required);
  return granted.some((own) => canonical(own) === scope);
}

/** Returns the requested scopes that are not granted; not empty means that a key would exceed its creator. */
export function scopesBeyond(granted: readonly string[], requested: readonly string[]): string[] {
  return requested.filter((scope) => !grantsScope(granted, scope));
}

const readingActions = new Set(['read', 'list', 'view']);

/** Resources that belong to a workspace, and operations within one. */
const ofWorkspaces = new Set([
  'completions',
  'mcp',
  'agents',
  'logs',
  'analytics',
  'configs',
  'prompts',
  'providers',
  'virtual_keys',
  'policies',
  'guardrails',
  'workspaces',
  'workspace_users',
  'mcp_servers',
  'workspace_service_api_keys',
  'workspace_user_api_keys',
  'workspace_integrations',
  'workspace_mcp_integrations',
]);
/** Scopes of organisation resources that are used within a workspace. */
const usedInWorkspaces = new Set(['secret_references.read', 'secret_references.list']);
const notOfWorkspaces = new Set(['workspaces.create', 'workspaces.delete']);
/** Actions of members in addition to reading. */
const ofMembers = new Set(['write', 'invoke', 'render']);

const workspaceScopes = allScopes.filter((scope) => {
  const isOwn = ofWorkspaces.has(scope.split('.')[0]!) && !notOfWorkspaces.has(scope);
  return isOwn || usedInWorkspaces.has(scope);
});

/** Scopes by workspace role (docs/reference/access.md, Sign-in). */
const memberScopes = {
  admin: workspaceScopes,
  manager: workspaceScopes.filter((scope) => scope !== 'workspaces.update'),
  member: workspaceScopes.filter((scope) => {
    const [resource = '', action = ''] = scope.split('.');
    if (resource === 'workspace_service_api_keys') return false;
    const isReading = readingActions.has(action) || ofMembers.has(action);
    // A setting of the workspace decides whether members may write prompts.
    return isReading || resource === 'workspace_user_api_keys' || resource === 'prompts';
  }),
} as const;

export function scopesOfMember(role: keyof typeof memberScopes): readonly string[] {
  return memberScopes[role];
}

/** Resources that decide who may do what; a role either manages these or everything else. */
const ofIdentity = new Set([
  'access_policies',
  'iam_scopes',
  'service_accounts',
  'tsgs',
  'organisation_users',
  'workspace_users',
]);
const isOfIdentity = (scope: string): boolean => ofIdentity.has(scope.split('.')[0]!);

/** Predefined roles (docs/reference/access.md, Access policies). */
const builtInRoles = {
  superuser: allScopes,
  view_only_admin: allScopes.filter((scope) => readingActions.has(scope.split('.')[1]!)),
  resource_admin: allScopes.filter((scope) => !isOfIdentity(scope)),
  identity_admin: allScopes.filter(isOfIdentity),
  workspace_admin: memberScopes.admin,
  workspace_manager: memberScopes.manager,
  workspace_member: memberScopes.member,
} satisfies Readonly<Record<string, readonly string[]>>;

export type BuiltInRole = keyof typeof builtInRoles;

/** Names of the predefined roles. */
export const builtInRoleNames = Object.keys(builtInRoles) as [BuiltInRole, ...BuiltInRole[]];

/**
 * Scopes of a role. A role that is not built in (such as `<role_slug>:<tsg_id>`) can be assigned but
 * grants nothing.
 */
export function scopesOfRole(role: string): readonly string[] {
  return Object.hasOwn(builtInRoles, role) ? builtInRoles[role as BuiltInRole] : [];
}

/** Scopes that several roles grant together, without duplicates, in the order of the catalogue. */
export function scopesOfRoles(roles: readonly string[]): string[] {
  const granted = new Set(roles.flatMap(scopesOfRole));
  return allScopes.filter((scope) => granted.has(scope));
}
