/**
 * Checks that manifests can express every field of the API, and lists the exceptions with their
 * reasons.
 */
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Principal } from '../../../../src/auth/principal.ts';
import type { MountedRoute } from '../../../../src/http/routes/registry.ts';
import { type KindName, kindNames, kinds } from '../../../../src/model/kinds/kinds.ts';
import { loadSpecSchema } from '../../../../src/model/kinds/spec-schemas.ts';
import { everyRoute } from '../../../support/interface/every-route.ts';

/** Fields of bodies that no spec has, by kind. */
const unsaid: Readonly<Partial<Record<KindName, Readonly<Record<string, string>>>>> = {
  Workspace: {
    'users.**': 'people are no configuration',
    'usage_limits.*.**': 'is the list of the API; manifests have a map in all kinds',
    'defaults.mcp_input_guardrails': 'WorkspaceGuardrails say it, since guardrails come after',
    'defaults.mcp_output_guardrails': 'WorkspaceGuardrails say it, since guardrails come after',
    'defaults.input_guardrails': 'WorkspaceGuardrails say it, since guardrails come after',
    'defaults.output_guardrails': 'WorkspaceGuardrails say it',
    'defaults.user_api_key_config': 'names a config of the workspace, which comes after it',
  },
  Config: { status: 'what is declared is in use; what is not is taken out of the source' },
  ApiKey: { key: 'sync makes the value itself', reset_usage: 'is an order and no state' },
  McpIntegration: { command: 'is refused by every plane' },
  GuardrailMcpBinding: {
    capability_ids: 'is another name of mcp_integration_capability_ids',
    workspace_id: 'only says where its ends must be',
  },
  UsageLimitPolicy: { reset_usage_for_value: 'is an order and no state' },
  Integration: {
    'global_workspace_access.usage_limits.*.**': 'is the list of the API',
    'workspaces.*.usage_limits.*.**': 'is the list of the API',
    create_default_provider: 'a Provider is declared as such',
    default_provider_slug: 'a Provider is declared as such',
  },
  Provider: {
    reset_usage: 'is an order and no state',
    'rate_limits.type': 'is the form of a single one, which a list says as well',
    'rate_limits.unit': 'as type',
    'rate_limits.value': 'as type',
  },
  PromptPartial: { status: 'as of a Config' },
  Prompt: { prompt_metadata: 'is another name of template_metadata' },
  Deployment: {
    status: 'what is declared is in use; what is not is archived',
    rotate_auth: 'is an order and no state',
    override_existing: 'what is declared is whole',
    'auth_settings.remove_workspaces_allowed': 'what is declared is whole',
    'auth_settings.remove_subs_allowed': 'what is declared is whole',
  },
  ScimMapping: { scim_group_id: 'ids are of one server; a group is named' },
  ServiceAccount: { client_secret: 'sync makes the value itself' },
};

/** Fields of every body that state its owner. */
const frame = /^(?:managed_by|organisation_id)\b/;

/** Routes with a body that belong to no kind, by the beginning of their path. */
const ofNoKind: readonly (readonly [RegExp, string])[] = [
  [/^\/(?:oauth2|iam\/v1)\//, 'the access service is not configured by sync'],
  [/^\/gatewright\//, 'sync itself'],
  [/^\/admin\/(?:users|workspaces\/:id\/users)\b/, 'people are no configuration'],
  [/^\/scim\/v2\//, 'directories bring people'],
  [/^\/(?:feedback|logs)\b/, 'is about what was'],
  [/\/(?:rotate|render|test|sync|makeDefault)$/, 'is an order and no state'],
  [/\/definitions\/approve$/, 'approved_definitions of McpIntegration says it'],
  [/^\/mcp-servers\/:mcpServerId\/tokens$/, 'tokens are of people'],
  [/^\/prompts\/:promptId\/versions\//, 'labels of versions are moved by whoever releases prompts'],
  [/^\/workspace-exclusions\//, 'GuardrailExclusion says it of each workspace'],
  [/^\/guardrails\/:guardrailId\/mcp-servers$/, 'GuardrailMcpBinding says it of each pair'],
  [/\/(?:integration-)?models$/, 'is part of Integration'],
  [/^\/(?:mcp-)?integrations\/:\w+\/workspaces$/, 'is part of Integration and McpIntegration'],
  [/^\/mcp-\w+\/:\w+\/(?:capabilities|user-access)$/, 'is part of McpIntegration and McpServer'],
  [/^\/virtual-keys\b/, 'is an Integration and its Provider in one'],
  [
    /^\/organisations\/self$/,
    'is the name of the organisation, which there is before any manifest; OrganisationDefaults has the rest',
  ],
  [/\/auth-settings$/, 'decides who may sign in, which is no configuration of the gateway'],
  [/^\/api-keys\/(?:service|user)\b/, 'is another path of ApiKey'],
  [/^\/admin\/workspaces\b/, 'is another path of Workspace'],
];

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly [more: string]: unknown;
}

/** Dotted paths that a schema names, in all its alternatives. */
function placesOf(schema: z.ZodType): ReadonlySet<string> {
  const found = new Set<string>();
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const walk = (part: Schema, at: string): void => {
    const alternatives = [part.anyOf, part.oneOf, part.allOf].flatMap((list) => list ?? []);
    for (const one of alternatives as Schema[]) walk(one, at);
    for (const [key, below] of Object.entries(part.properties ?? {})) {
      found.add(at + key);
      walk(below, `${at}${key}.`);
    }
    for (const below of [part.items, part.additionalProperties]) {
      if (typeof below === 'object') walk(below, `${at}*.`);
    }
  };
  walk(root as Schema, '');
  return found;
}

type Writing = MountedRoute<Principal>;

const writing = everyRoute().filter(
  ({ route }) => route.body !== undefined && ['POST', 'PUT', 'PATCH'].includes(route.method),
);
const marked = {
  type: ':',
  sub_type: ':',
  workspace_id: ':',
  guardrail_id: ':',
  mcp_server_id: ':',
};
const plain = (path: string) => path.replaceAll('%3A', ':').replaceAll(/:\w*/g, ':');

/** The routes that create and change resources of the kind. */
function routesOf(name: KindName): Writing[] {
  const { create, item } = kinds[name];
  const made = create(marked);
  const requested = new Set([
    `${made.method} ${plain(made.path)}`,
    `PUT ${plain(item(':', marked))}`,
  ]);
  return writing.filter(({ route, pattern }) => requested.has(`${route.method} ${plain(pattern)}`));
}

it.each(kindNames)('%s expresses whatever its routes accept', async (name) => {
  const stated = placesOf(await loadSpecSchema(name));
  const taken = new Set(routesOf(name).flatMap(({ route }) => [...placesOf(route.body!)]));
  expect(taken.size).toBeGreaterThan(0);
  const missing = [...taken].filter((place) => !stated.has(place) && !frame.test(place));
  const reasons = Object.keys(unsaid[name] ?? {});
  const holds = (reason: string, place: string) =>
    reason.endsWith('.**') ? `${place}.`.startsWith(reason.slice(0, -2)) : place === reason;
  expect(missing.filter((place) => !reasons.some((one) => holds(one, place)))).toEqual([]);
  expect(reasons.filter((one) => !missing.some((place) => holds(one, place)))).toEqual([]);
});

it('documents why every other route with a body belongs to no kind', () => {
  const ofKinds = new Set(kindNames.flatMap(routesOf).map(({ route }) => route.path));
  const others = writing.map(({ route }) => route.path).filter((path) => !ofKinds.has(path));
  const reasonOf = (path: string) => ofNoKind.find(([pattern]) => pattern.test(path));
  expect([...new Set(others)].filter((path) => reasonOf(path) === undefined)).toEqual([]);
  const used = new Set(others.map(reasonOf));
  expect(ofNoKind.filter((one) => !used.has(one)).map(([, reason]) => reason)).toEqual([]);
});
