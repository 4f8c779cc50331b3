/**
 * Verifies that `validate` rejects exactly what the server rejects: every field of every kind,
 * invalid in every way.
 */
import { dump } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KindName, kinds, singletonName } from '../../../../src/model/kinds/kinds.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { readTexts } from '../../../support/sync/manifests.ts';

type Body = Record<string, unknown>;

let server: TestServer;
const ids: Record<string, string> = {};

/** Objects that specs reference: the server knows them by id, manifests by name. */
const referents = [
  ['Workspace', 'w', { name: 'w' }],
  ['Workspace', 'v', { name: 'v' }],
  ['Config', 'c', { name: 'c', config: {} }],
  [
    'Guardrail',
    'llm',
    {
      name: 'llm',
      checks: [{ id: 'default.wordCount', parameters: { minWords: 1 } }],
      actions: {},
    },
  ],
  [
    'Guardrail',
    'tools',
    {
      name: 'tools',
      target: 'mcp_tools',
      checks: [{ id: 'default.contains', parameters: { words: ['a'], operator: 'none' } }],
      actions: {},
    },
  ],
  [
    'McpIntegration',
    'i',
    { name: 'i', url: 'https://crm.example.com/mcp', auth_type: 'none', transport: 'http' },
  ],
  ['McpServer', 's', { name: 's', mcp_integration_id: '$McpIntegration/i' }],
  ['Integration', 'ai', { name: 'ai', ai_provider_id: 'openai' }],
  ['ApiKey', 'k', { name: 'k', type: 'workspace', sub_type: 'service', scopes: ['logs.view'] }],
] as const satisfies readonly (readonly [KindName, string, Body])[];

/** A body of each kind with every field; `$Config/c` stands for the id of one. */
const bodies: Record<KindName, Body> = {
  Workspace: {
    name: 'x',
    description: 'd',
    usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'monthly' },
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    defaults: { metadata: { a: 'b' }, allow_config_override: false },
  },
  Guardrail: {
    name: 'x',
    checks: [{ id: 'default.wordCount', name: 'n', parameters: { minWords: 1 }, is_enabled: true }],
    actions: { deny: true },
    target: 'llm',
  },
  Config: { name: 'x', config: { retry: { attempts: 3 }, cache: { mode: 'simple' } } },
  ApiKey: {
    name: 'x',
    type: 'workspace',
    sub_type: 'service',
    description: 'd',
    scopes: ['logs.view'],
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'monthly' },
    defaults: { config_id: '$Config/c', metadata: { a: 'b' }, allow_config_override: true },
    alert_emails: ['a@example.com'],
    expires_at: '2092-01-01T00:00:00Z',
    rotation_policy: { rotation_period: 'monthly', key_transition_period_ms: 1_800_000 },
  },
  SecretReference: {
    name: 'x',
    slug: 'x',
    description: 'd',
    manager_type: 'aws_sm',
    auth_config: { aws_auth_type: 'serviceRole', aws_region: 'eu-central-1' },
    secret_path: 'prod/openai',
    secret_key: 'k',
    allow_all_workspaces: true,
    tags: { team: 'a' },
  },
  McpIntegration: {
    name: 'x',
    description: 'd',
    url: 'https://crm.example.com/mcp',
    auth_type: 'headers',
    transport: 'http',
    configurations: { custom_headers: { 'X-Team': 'a' } },
  },
  McpServer: {
    name: 'x',
    description: 'd',
    slug: 'x-server',
    mcp_integration_id: '$McpIntegration/i',
  },
  GuardrailMcpBinding: {
    guardrail_id: '$Guardrail/tools',
    mcp_server_id: '$McpServer/s',
    run_on: ['input'],
  },
  UsageLimitPolicy: {
    name: 'x',
    description: 'd',
    conditions: [{ key: 'api_key', value: '$ApiKey/k' }],
    group_by: [{ key: 'api_key' }],
    type: 'cost',
    credit_limit: 10,
    alert_threshold: 5,
    periodic_reset: 'monthly',
  },
  RateLimitPolicy: {
    name: 'x',
    description: 'd',
    conditions: [
      { key: 'api_key', value: '$ApiKey/k' },
      { key: 'metadata.team', value: ['a', 'b'], excludes: 'c' },
    ],
    group_by: [{ key: 'model' }, { key: 'metadata.team' }],
    type: 'requests',
    unit: 'rpm',
    value: 60,
    target: 'llm',
  },
  Integration: {
    name: 'x',
    description: 'd',
    ai_provider_id: 'openai',
    configurations: { custom_host: 'https://models.example.com/v1' },
    pricing_adjustments: { multiplier: { default: 1.5 } },
    tags: { team: 'a' },
    capabilities: { responses: 'native', files: 'off' },
    allow_all_models: false,
    models: [{ slug: 'gpt-4o', enabled: true, pricing_config: { type: 'static' } }],
  },
  Provider: {
    name: 'x',
    integration_id: '$Integration/ai',
    note: 'n',
    usage_limits: { type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'monthly' },
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    expires_at: '2092-01-01T00:00:00Z',
    tags: { team: 'a' },
  },
  PromptLabel: { name: 'staging', description: 'd', color_code: '#2f6fde' },
  PromptCollection: { name: 'x' },
  PromptPartial: { name: 'x', string: 'Be {{tone}}.', version_description: 'd' },
  Prompt: {
    name: 'x',
    string: '[{"role": "user", "content": "Hello {{name}}"}]',
    parameters: { temperature: 0.5 },
    model: 'm',
    virtual_key: 'openai',
    functions: [{ name: 'f' }],
    tools: [{ type: 'function' }],
    tool_choice: 'auto',
    template_metadata: { env: 'test' },
    is_raw_template: 1,
    version_description: 'd',
  },
  OrganisationDefaults: {
    input_guardrails: [],
    output_guardrails: [],
    export_settings: { deniedFields: ['response'] },
    api_key_max_ttl_days: 36_500,
  },
  GuardrailExclusion: { input_guardrails: true, output_guardrails: false },
  WorkspaceGuardrails: { input_guardrails: [], output_guardrails: [] },
  Deployment: {
    name: 'east',
    type: 'non_production',
    is_default: false,
    source_type: 'helm',
    tags: { region: 'eu' },
    deployment_config: { a: 1 },
    auth_settings: {
      gateway_base_url: 'https://gateway.example.com',
      mcp_gateway_base_url: 'https://mcp.example.com',
      is_dataservice_hosted: 0,
      is_playground_proxy_allowed: 1,
      workspaces_allowed: [],
      jwt_subs_allowed: ['a'],
      jwt_sub_workspace_mapping: {},
      allow_all_workspaces: false,
    },
  },
  ScimMapping: { scim_group_name: 'Support', role: 'member' },
  ServiceAccount: {
    name: 'x',
    roles: ['workspace_member'],
    description: 'd',
    status: 'active',
    rotation_policy: { rotation_period: 'weekly' },
  },
  TenantServiceGroup: { name: 'x', description: 'd' },
};

beforeAll(async () => {
  server = await startTestServer();
  for (const [kind, name, body] of referents) {
    ids[`${kind}/${name}`] = (await create(kind, body, kind === 'Workspace' ? null : 'w')).id;
  }
});
afterAll(async () => await server[Symbol.asyncDispose]());

function withIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) =>
    typeof item === 'string' && item.startsWith('$') ? ids[item.slice(1)] : item,
  );
}

async function create(kind: KindName, body: Body, workspace: string | null) {
  const isSent = kinds[kind].references.some(({ path }) => path === 'workspace_id');
  const placed =
    workspace !== null && isSent ? { ...body, workspace_id: ids[`Workspace/${workspace}`] } : body;
  const wire = withIds(placed) as Body;
  const { create: requestOf, pathFields } = kinds[kind];
  const { method, path } = requestOf(wire);
  const sent = Object.fromEntries(
    Object.entries(wire).filter(([key]) => !pathFields.includes(key)),
  );
  const answer = await server.request(method, path, { body: sent });
  return { status: answer.status, body: answer.body, id: String(answer.body?.id ?? '') };
}

/** Returns whether the server rejects a body for its contents. */
async function refusedByServer(
  kind: KindName,
  body: Body,
  workspace: string | null,
): Promise<string | null> {
  const { status, body: answer } = await create(kind, body, workspace);
  expect(status, JSON.stringify(answer)).toBeLessThan(500);
  return status === 400 || status === 404 ? JSON.stringify(answer) : null;
}

/** Converts a body to the spec of a manifest, with references by name. */
function specOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(specOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (typeof item !== 'string' || !item.startsWith('$')) return [key, specOf(item)];
      const [kind = '', name = ''] = item.slice(1).split('/');
      const field = `${kind.charAt(0).toLowerCase()}${kind.slice(1)}Ref`;
      return [field, name.replace('~', '/')];
    }),
  );
}

function document(kind: KindName, name: string, body: unknown, workspace: string | null): string {
  const metadata = workspace === null ? { name } : { name, workspace };
  return dump(
    { apiVersion: 'gatewright.dev/v1', kind, metadata, spec: specOf(body) },
    { noRefs: true },
  );
}

let texts: string[] | undefined;

/** Manifests of the referenced objects. */
function others(): string[] {
  texts ??= referents.map(([kind, name, spec]) =>
    document(kind, name, spec, kind === 'Workspace' ? null : 'w'),
  );
  return texts;
}

async function refusedByValidate(
  kind: KindName,
  body: Body,
  workspace: string | null,
  extra: readonly string[] = [],
): Promise<string | null> {
  const name = kinds[kind].isSingleton === true ? singletonName : 'under-test';
  const text = document(kind, name, body, workspace);
  const { faults } = await readTexts({
    'a.yaml': text,
    'b.yaml': [...others(), ...extra].join('---\n'),
  });
  const own = (faults ?? []).filter(({ position }) => position.file === 'a.yaml');
  expect(faults?.length ?? 0).toBe(own.length);
  return own.length === 0 ? null : own.map(({ message }) => message).join('; ');
}

/** Returns the path of each value in a body. */
function placesIn(value: unknown, above: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    [...above, key],
    ...placesIn(item, [...above, key]),
  ]);
}

const nothing = Symbol('nothing');
const wrongValues: readonly unknown[] = [
  nothing,
  'text',
  '',
  'x'.repeat(2000),
  -1,
  1.5,
  1e21,
  true,
  [],
  {},
  [1],
  ['a', 'a'],
  [null],
  { a: null },
  '2020-01-01T00:00:00Z',
];

function replaced(body: Body, place: readonly string[], value: unknown): Body {
  const copy = structuredClone(body);
  const holder = place.slice(0, -1).reduce<unknown>((at, key) => (at as Body)[key], copy) as Body;
  const key = place.at(-1) ?? '';
  if (value !== nothing) holder[key] = structuredClone(value);
  else if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
  return copy;
}

/** Differences that validate cannot know: the time of the server, and the previous state. */
function isKnownDifference(kind: KindName, place: readonly string[], value: unknown): boolean {
  const [field] = place;
  // An omitted name is taken from the metadata; the type of a key follows from its place.
  if (
    value === nothing &&
    (field === 'name' || field === 'type' || field === 'sub_type') &&
    !kind.endsWith('LimitPolicy')
  )
    return true;
  // A text in place of a reference by name is an id for the server.
  const given = place.reduce<unknown>((at, key) => (at as Body | undefined)?.[key], bodies[kind]);
  if (typeof given === 'string' && given.startsWith('$')) return true;
  const lists = ['OrganisationDefaults', 'WorkspaceGuardrails', 'Deployment'];
  const isList = /_guardrails$|^workspaces_allowed$/.test(place.at(-1) ?? '');
  if (lists.includes(kind) && isList && isTexts(value)) return true;
  // Clients may send the budget of a workspace in a list; in manifests it has one form in all kinds.
  if (place.at(-1) === 'usage_limits' && Array.isArray(value)) return true;
  return field === 'expires_at' && value === '2020-01-01T00:00:00Z';
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.some((one) => typeof one === 'string');
}

describe('validate and the server agree on', () => {
  it.each(Object.keys(bodies) as KindName[])('agrees on every field of %s', async (kind) => {
    const workspace = kinds[kind].workspaced === 'none' ? null : 'w';
    const body = bodies[kind];
    expect([
      await refusedByServer(kind, body, workspace),
      await refusedByValidate(kind, body, workspace),
    ]).toEqual([null, null]);
    const differences: string[] = [];
    for (const place of placesIn(body)) {
      for (const value of wrongValues) {
        if (isKnownDifference(kind, place, value)) continue;
        const wrong = replaced(body, place, value);
        const [reported, seen] = [
          await refusedByServer(kind, wrong, workspace),
          await refusedByValidate(kind, wrong, workspace),
        ];
        if ((reported === null) === (seen === null)) continue;
        // Manifests are strict and require exact numbers, also where the server is lenient.
        if (reported === null && /has no field|too large to be read exactly/.test(seen ?? ''))
          continue;
        const visible = value === nothing ? 'left out' : JSON.stringify(value).slice(0, 40);
        differences.push(
          `${place.join('.')} ${visible}: server ${reported?.slice(0, 160)}, validate ${seen}`,
        );
      }
    }
    expect(differences).toEqual([]);
  });

  it.each((Object.keys(bodies) as KindName[]).filter((kind) => kinds[kind].workspaced !== 'none'))(
    'agrees on the workspace of %s, and on references to another workspace',
    async (kind) => {
      const type = (place: string | null): Body =>
        kind === 'ApiKey' ? { type: place === null ? 'organisation' : 'workspace' } : {};
      const differences: string[] = [];
      for (const workspace of [null, 'v']) {
        // The server selects the only workspace that may use the integration; a manifest must name
        // it.
        if (kind === 'McpServer' && workspace === null) continue;
        const qualified = JSON.parse(JSON.stringify({ ...bodies[kind], ...type(workspace) }));
        const reported = await refusedByServer(kind, qualified, workspace);
        const named = JSON.stringify(qualified).replaceAll(/"\$(\w+)\/(\w+)"/g, '"$$$1/w~$2"');
        const seen = await refusedByValidate(kind, JSON.parse(named), workspace);
        if ((reported === null) !== (seen === null)) {
          differences.push(`${workspace}: server ${reported?.slice(0, 200)}, validate ${seen}`);
        }
      }
      expect(differences).toEqual([]);
    },
  );

  it.each([
    ['a config on a guardrail of another workspace', 'Config', 'v', { guardrail: 'llm' }],
    ['a config of the organisation on one of a workspace', 'Config', null, { guardrail: 'llm' }],
    ['a config on a guardrail of its own', 'Config', 'w', { guardrail: 'llm' }],
    ['a binding of a guardrail on LLM requests', 'GuardrailMcpBinding', 'w', { end: 'llm' }],
    ['a binding of a guardrail of another workspace', 'GuardrailMcpBinding', 'w', { end: 'far' }],
    ['a binding of a guardrail of the organisation', 'GuardrailMcpBinding', 'w', { end: 'wide' }],
  ] as const)(
    'agrees on %s',
    async (_, kind, workspace, { guardrail, end }: { guardrail?: string; end?: string }) => {
      const place = end === 'far' ? 'v' : end === 'wide' ? null : 'w';
      const tools = referents.find(([, name]) => name === 'tools')?.[2] ?? {};
      if (end === 'far' || end === 'wide') {
        ids[`Guardrail/${end}`] = (await create('Guardrail', { ...tools, name: end }, place)).id;
      }
      const slug = (await server.request('GET', `/v2/guardrails/${ids['Guardrail/llm']}`)).body
        .slug;
      const wire =
        end === undefined
          ? { name: 'x', config: { input_guardrails: [slug] } }
          : { ...bodies.GuardrailMcpBinding, guardrail_id: `$Guardrail/${end}` };
      const reported = await refusedByServer(kind, wire, workspace);
      const spec =
        end === undefined
          ? { name: 'x', config: { input_guardrails: [{ guardrailRef: `w/${guardrail}` }] } }
          : {
              ...bodies.GuardrailMcpBinding,
              guardrail_id: `$Guardrail/${place === null ? '' : `${place}~`}${end}`,
            };
      const extra =
        end === 'far' || end === 'wide'
          ? [document('Guardrail', end, { ...tools, name: end }, place)]
          : [];
      const seen = await refusedByValidate(kind, spec, workspace, extra);
      expect([reported, seen].map((fault) => fault !== null)).toEqual([
        seen !== null,
        seen !== null,
      ]);
    },
  );
});
