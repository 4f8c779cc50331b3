/** Knows what a workspace says of what its people see and write: the settings, and what holds where nothing is said. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

/** What is allowed or not, and to whom: a setting is `members` or `managers` and one of these. */
const usual = {
  membersViewLogs: [true, 'Members read the log of requests.'],
  managersViewLogs: [true, 'Managers read the log of requests.'],
  membersViewAnalytics: [true, 'Members read sums over requests.'],
  managersViewAnalytics: [true, 'Managers read sums over requests.'],
  membersViewAllData: [
    true,
    'Log and sums show members the requests of all keys; false: of their own.',
  ],
  managersViewAllData: [
    true,
    'Log and sums show managers the requests of all keys; false: of their own.',
  ],
  membersViewPrompts: [true, 'Members read prompts.'],
  managersViewPrompts: [true, 'Managers read prompts.'],
  membersWritePrompts: [false, 'Members make and change prompts.'],
  managersWritePrompts: [true, 'Managers make and change prompts.'],
  membersViewConfigs: [true, 'Members read configs.'],
  managersViewConfigs: [true, 'Managers read configs.'],
  membersWriteConfigs: [true, 'Members make and change configs.'],
  managersWriteConfigs: [true, 'Managers make and change configs.'],
  membersViewGuardrails: [true, 'Members read guardrails.'],
  managersViewGuardrails: [true, 'Managers read guardrails.'],
  membersWriteGuardrails: [true, 'Members make and change guardrails.'],
  managersWriteGuardrails: [true, 'Managers make and change guardrails.'],
  membersViewVirtualKeys: [true, 'Members read providers and virtual keys.'],
  managersViewVirtualKeys: [true, 'Managers read providers and virtual keys.'],
  membersWriteVirtualKeys: [true, 'Members make and change providers and virtual keys.'],
  managersWriteVirtualKeys: [true, 'Managers make and change providers and virtual keys.'],
  membersViewApiKeys: [true, 'Members read API keys.'],
  managersViewApiKeys: [true, 'Managers read API keys.'],
  membersWriteApiKeys: [true, 'Members make and change API keys.'],
  managersWriteApiKeys: [true, 'Managers make and change API keys.'],
  managersWriteMcpServers: [true, 'Managers make and change MCP servers.'],
  managersWriteWsIntegrations: [true, 'Managers make and change integrations of the workspace.'],
  managersWriteWsMcpIntegrations: [
    true,
    'Managers make and change MCP integrations of the workspace.',
  ],
  managersWriteWsUsers: [true, 'Managers add, change and remove members.'],
  managersUpdateWs: [true, 'Managers change the workspace itself.'],
} as const satisfies Record<`${Group}${string}`, readonly [boolean, string]>;

/** What clients send back with the rest, and nothing here can withhold. */
const fixed = [
  'membersViewLogMetadata',
  'managersViewLogMetadata',
  'organisationAdminsViewLogs',
  'organisationAdminsViewLogMetadata',
] as const;

/** Who is in a workspace without being its administrator. */
type Group = 'members' | 'managers';
type Setting = keyof typeof usual;
type Fixed = (typeof fixed)[number];

/** What a setting is about, whomever it names. */
export type Right = RightOf<Setting>;
/** A right to do something, which is had or not. */
export type Deed = Exclude<Right, 'ViewAllData'>;
type RightOf<Named> = Named extends `${Group}${infer Rest}` ? Rest : never;

const settings = Object.keys(usual) as Setting[];

function fieldOf(name: Setting) {
  const [byDefault, meaning] = usual[name];
  return described(z.boolean().nullable().optional(), meaning, { default: byDefault });
}

function fixedField() {
  const message = 'must be true: who reads the log reads this too';
  return described(
    z.literal(true, message).nullable().optional(),
    'Always true: who reads the log reads this too.',
  );
}

function fieldsOf<Name extends string, Field>(
  names: readonly Name[],
  make: (name: Name) => Field,
): Record<Name, Field> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Field>;
}

/** As sent: absent settings stay, null makes one the usual again. */
export const SecuritySettings = z.strictObject({
  ...fieldsOf(settings, fieldOf),
  ...fieldsOf(fixed, fixedField),
});
export type SecuritySettings = z.infer<typeof SecuritySettings>;

/** All of them, as answered. */
export const SecurityRecord = z.object({
  ...fieldsOf(settings, () => z.boolean()),
  ...fieldsOf(fixed, () => z.literal(true)),
});

/** What holds: what was said, else the usual. */
export function effectiveSettings(said: SecuritySettings | null): z.infer<typeof SecurityRecord> {
  return {
    ...fieldsOf(settings, (name) => said?.[name] ?? usual[name][0]),
    ...fieldsOf<Fixed, true>(fixed, () => true),
  };
}

/** Whether the workspace gives the right to its people of that role; its administrators have all of them. */
export function givesRight(
  said: SecuritySettings | null,
  role: 'admin' | 'manager' | 'member',
  right: Right,
): boolean {
  const name = `${role}s${right}`;
  // Of what no setting of the role is about, scopes alone decide.
  return isSetting(name) ? effectiveSettings(said)[name] : true;
}

function isSetting(name: string): name is Setting {
  return Object.hasOwn(usual, name);
}

/** What settings call the resources that scopes are about. */
const settingWords: Readonly<Record<string, string>> = {
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
 * The right that somebody needs beside any of the scopes; undefined where no setting is about what they
 * allow. What a scope of the organisation allows is no business of a workspace.
 */
export function rightBeside(scopes: readonly string[]): Deed | undefined {
  const ofWorkspace = scopes.filter((scope) => !scope.startsWith('organisation_'));
  const [right, ...others] = new Set(ofWorkspace.map(rightOfScope));
  return others.length === 0 ? right : undefined;
}

/** All rights that somebody makes use of by what the scope allows; none where no setting is about it. */
export function rightsBehind(scope: string): readonly Right[] {
  const [resource, action] = scope.split('.');
  if (scope === 'analytics.view') return ['ViewAnalytics', 'ViewAllData'];
  if (resource === 'logs' && action !== 'write') return ['ViewLogs', 'ViewAllData'];
  const right = rightOfScope(scope);
  return right === undefined ? [] : [right];
}

function rightOfScope(scope: string): Deed | undefined {
  if (scope === 'workspaces.update') return 'UpdateWs';
  const [resource = '', action = ''] = scope.split('.');
  const word = settingWords[resource];
  if (word === undefined || action === 'invoke') return undefined;
  const right = `${readingActions.has(action) ? 'View' : 'Write'}${word}`;
  return isSetting(`managers${right}`) ? (right as Deed) : undefined;
}
