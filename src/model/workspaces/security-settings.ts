/** Defines the settings of a workspace that control what its members and managers may see and change. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

/** Default and meaning of each setting. A name is `members` or `managers` followed by a right. */
const settingDefaults = {
  membersViewLogs: [true, 'Members can read the request log.'],
  managersViewLogs: [true, 'Managers can read the request log.'],
  membersViewAnalytics: [true, 'Members can read totals over requests.'],
  managersViewAnalytics: [true, 'Managers can read totals over requests.'],
  membersViewAllData: [
    true,
    'Log and totals show members the requests of all keys; if false, only those of their own keys.',
  ],
  managersViewAllData: [
    true,
    'Log and totals show managers the requests of all keys; if false, only those of their own keys.',
  ],
  membersViewPrompts: [true, 'Members can read prompts.'],
  managersViewPrompts: [true, 'Managers can read prompts.'],
  membersWritePrompts: [false, 'Members can create and change prompts.'],
  managersWritePrompts: [true, 'Managers can create and change prompts.'],
  membersViewConfigs: [true, 'Members can read configs.'],
  managersViewConfigs: [true, 'Managers can read configs.'],
  membersWriteConfigs: [true, 'Members can create and change configs.'],
  managersWriteConfigs: [true, 'Managers can create and change configs.'],
  membersViewGuardrails: [true, 'Members can read guardrails.'],
  managersViewGuardrails: [true, 'Managers can read guardrails.'],
  membersWriteGuardrails: [true, 'Members can create and change guardrails.'],
  managersWriteGuardrails: [true, 'Managers can create and change guardrails.'],
  membersViewVirtualKeys: [true, 'Members can read providers and virtual keys.'],
  managersViewVirtualKeys: [true, 'Managers can read providers and virtual keys.'],
  membersWriteVirtualKeys: [true, 'Members can create and change providers and virtual keys.'],
  managersWriteVirtualKeys: [true, 'Managers can create and change providers and virtual keys.'],
  membersViewApiKeys: [true, 'Members can read API keys.'],
  managersViewApiKeys: [true, 'Managers can read API keys.'],
  membersWriteApiKeys: [true, 'Members can create and change API keys.'],
  managersWriteApiKeys: [true, 'Managers can create and change API keys.'],
  managersWriteMcpServers: [true, 'Managers can create and change MCP servers.'],
  managersWriteWsIntegrations: [
    true,
    'Managers can create and change integrations of the workspace.',
  ],
  managersWriteWsMcpIntegrations: [
    true,
    'Managers can create and change MCP integrations of the workspace.',
  ],
  managersWriteWsUsers: [true, 'Managers can add, change and remove members.'],
  managersUpdateWs: [true, 'Managers can change the workspace itself.'],
} as const satisfies Record<`${Group}${string}`, readonly [boolean, string]>;

/** Settings that clients send back with the others and that cannot be disabled. */
const fixedSettings = [
  'membersViewLogMetadata',
  'managersViewLogMetadata',
  'organisationAdminsViewLogs',
  'organisationAdminsViewLogMetadata',
] as const;

/** Roles in a workspace other than its administrator. */
type Group = 'members' | 'managers';
type Setting = keyof typeof settingDefaults;
type FixedSetting = (typeof fixedSettings)[number];

/** The right that a setting controls, without the role. */
export type Right = RightOf<Setting>;
/** A right that is either granted or not. */
export type ActionRight = Exclude<Right, 'ViewAllData'>;
type RightOf<Named> = Named extends `${Group}${infer Rest}` ? Rest : never;

const settings = Object.keys(settingDefaults) as Setting[];

function fieldOf(name: Setting) {
  const [byDefault, meaning] = settingDefaults[name];
  return described(z.boolean().nullable().optional(), meaning, { default: byDefault });
}

function fixedField() {
  const message = 'must be true: readers of the log can always read this';
  return described(
    z.literal(true, message).nullable().optional(),
    'Always true: readers of the log can always read this.',
  );
}

function fieldsOf<Name extends string, Field>(
  names: readonly Name[],
  make: (name: Name) => Field,
): Record<Name, Field> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Field>;
}

/** As sent: an absent setting is unchanged, null restores its default. */
export const SecuritySettings = z.strictObject({
  ...fieldsOf(settings, fieldOf),
  ...fieldsOf(fixedSettings, fixedField),
});
export type SecuritySettings = z.infer<typeof SecuritySettings>;

/** All settings, as returned. */
export const SecurityRecord = z.object({
  ...fieldsOf(settings, (name) => described(z.boolean(), settingDefaults[name][1])),
  ...fieldsOf(fixedSettings, () => described(z.literal(true), 'Always true.')),
});

/** The settings in effect: the stored ones, with defaults for the others. */
export function effectiveSettings(stored: SecuritySettings | null): z.infer<typeof SecurityRecord> {
  return {
    ...fieldsOf(settings, (name) => stored?.[name] ?? settingDefaults[name][0]),
    ...fieldsOf<FixedSetting, true>(fixedSettings, () => true),
  };
}

/** Whether the workspace grants the right to users of the role; administrators have all rights. */
export function hasWorkspaceRight(
  stored: SecuritySettings | null,
  role: 'admin' | 'manager' | 'member',
  right: Right,
): boolean {
  const name = `${role}s${right}`;
  // Without a setting for the role, the scopes alone decide.
  return isSetting(name) ? effectiveSettings(stored)[name] : true;
}

function isSetting(name: string): name is Setting {
  return Object.hasOwn(settingDefaults, name);
}

/** Names of resources in settings, by their names in scopes. */
const settingResources: Readonly<Record<string, string>> = {
  prompts: 'Prompts',
  configs: 'Configs',
  guardrails: 'Guardrails',
  providers: 'VirtualKeys',
  virtual_keys: 'VirtualKeys',
  workspace_service_api_keys: 'ApiKeys',
  workspace_user_api_keys: 'ApiKeys',
  mcp_servers: 'McpServers',
  workspace_integrations: 'WsIntegrations',
  workspace_mcp_integrations: 'WsMcpIntegrations',
  workspace_users: 'WsUsers',
};
const readingActions = new Set(['read', 'list', 'render']);

/**
 * Returns the right that is required in addition to any of the scopes; undefined if no setting controls
 * it. Scopes of the organisation are not subject to the settings of a workspace.
 */
export function requiredRight(scopes: readonly string[]): ActionRight | undefined {
  const ofWorkspace = scopes.filter((scope) => !scope.startsWith('organisation_'));
  const [right, ...others] = new Set(ofWorkspace.map(rightOfScope));
  return others.length === 0 ? right : undefined;
}

/** Returns all rights that using the scope requires; empty if no setting controls it. */
export function rightsOfScope(scope: string): readonly Right[] {
  const [resource, action] = scope.split('.');
  if (scope === 'analytics.view') return ['ViewAnalytics', 'ViewAllData'];
  if (resource === 'logs' && action !== 'write') return ['ViewLogs', 'ViewAllData'];
  const right = rightOfScope(scope);
  return right === undefined ? [] : [right];
}

function rightOfScope(scope: string): ActionRight | undefined {
  if (scope === 'workspaces.update') return 'UpdateWs';
  const [resource = '', action = ''] = scope.split('.');
  const word = settingResources[resource];
  if (word === undefined || action === 'invoke') return undefined;
  const right = `${readingActions.has(action) ? 'View' : 'Write'}${word}`;
  return isSetting(`managers${right}`) ? (right as ActionRight) : undefined;
}
