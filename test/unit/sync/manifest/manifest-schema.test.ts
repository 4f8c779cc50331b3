/**
 * Checks that the JSON Schemas of manifests and `validate` agree, field by field and fault by
 * fault.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { dump, loadAll } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type KindName,
  kindNames,
  kinds,
  singletonName,
} from '../../../../src/model/kinds/kinds.ts';
import { anySchema, kindSchema } from '../../../../src/sync/authoring/manifest-schema.ts';
import { annotations, metadataKeys } from '../../../../src/sync/manifest/manifest-metadata.ts';
import { readTexts } from '../../../support/sync/manifests.ts';

type Document = Record<string, unknown>;

const apiVersion = 'gatewright.dev/v1';

/** The resources that the manifests below refer to, each in a workspace except the first. */
const [workspace, ...others] = [
  { kind: 'Workspace', metadata: { name: 'w' } },
  { kind: 'Config', metadata: { name: 'c', workspace: 'w' }, spec: { config: {} } },
  { kind: 'External', metadata: { name: 'g' }, spec: { kind: 'Guardrail', slug: 'g' } },
  { kind: 'External', metadata: { name: 's' }, spec: { kind: 'McpServer', slug: 's' } },
  { kind: 'External', metadata: { name: 'i' }, spec: { kind: 'McpIntegration', slug: 'i' } },
  { kind: 'External', metadata: { name: 'ai' }, spec: { kind: 'Integration', slug: 'ai' } },
  { kind: 'External', metadata: { name: 'k' }, spec: { kind: 'ApiKey', slug: 'k' } },
  { kind: 'External', metadata: { name: 'v' }, spec: { kind: 'SecretReference', slug: 'v' } },
  { kind: 'External', metadata: { name: 'c' }, spec: { kind: 'PromptCollection', slug: 'c' } },
  { kind: 'External', metadata: { name: 'p' }, spec: { kind: 'Provider', slug: 'p' } },
].map((document) => ({ name: document.metadata.name, text: dump({ apiVersion, ...document }) }));

const budget = {
  type: 'cost',
  creditLimit: 10,
  alertThreshold: 5,
  periodicReset: 'monthly',
  nextUsageResetAt: '2092-01-01T00:00:00Z',
};

/** A spec of each kind with every field in it. */
const specs: Record<KindName, Document> = {
  Workspace: {
    name: 'x',
    description: 'd',
    icon: 'i',
    scopeName: 's',
    usageLimits: budget,
    rateLimits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    defaults: { metadata: { a: 'b' } },
  },
  Guardrail: {
    name: 'x',
    target: 'llm',
    checks: [{ id: 'default.notNull', name: 'n', isEnabled: true, parameters: { not: true } }],
    actions: { deny: true, on_fail: { feedback: { value: -5, weight: 1, metadata: 'm' } } },
  },
  Config: {
    name: 'x',
    isDefault: 1,
    config: {
      strategy: { mode: 'fallback', on_status_codes: [429] },
      retry: { attempts: 3, on_status_codes: [500] },
      cache: { mode: 'simple', max_age: 60 },
      targets: [
        {
          name: 't',
          weight: 1,
          provider: 'p',
          input_guardrails: ['pg-slug-0a1b2c', { guardrailRef: 'g' }],
        },
        { override_params: { model: 'm' }, request_timeout: 100, passthrough: true },
      ],
    },
  },
  ApiKey: {
    name: 'x',
    type: 'workspace',
    subType: 'service',
    description: 'd',
    userId: '018f2f0e-5a70-7c3e-9d0a-2f2b8c1d4e5f',
    scopes: ['logs.view'],
    rateLimits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    usageLimits: budget,
    defaults: { configRef: 'c', metadata: { a: 'b' }, allowConfigOverride: true },
    alertEmails: ['a@example.com'],
    expiresAt: '2092-01-01T00:00:00Z',
    rotationPolicy: { rotationPeriod: 'monthly', keyTransitionPeriodMs: 1_800_000 },
    secretOutput: { file: { path: 'w/k.key', mode: '0640' } },
  },
  SecretReference: {
    name: 'x',
    slug: 'x',
    description: 'd',
    managerType: 'aws_sm',
    authConfig: {
      awsAuthType: 'accessKey',
      awsAccessKeyId: { valueFrom: { env: 'T' } },
      awsSecretAccessKey: { valueFrom: { env: 'T' } },
      awsRegion: 'eu-central-1',
    },
    secretPath: 'prod/openai',
    secretKey: 'k',
    allowAllWorkspaces: false,
    allowedWorkspaces: [{ workspaceRef: 'w' }],
    tags: { team: 'a' },
  },
  McpIntegration: {
    name: 'x',
    slug: 'x',
    description: 'd',
    url: 'https://crm.example.com/mcp',
    authType: 'headers',
    transport: 'http',
    configurations: {
      custom_headers: {
        'X-Team': 'a',
        Authorization: { valueFrom: { env: 'T', prefix: 'Bearer ' } },
      },
      passthrough_headers: { 'x-a': 'x-b' },
      extensions: { other: 1 },
    },
    secretMappings: [
      {
        targetField: 'configurations.headers.X-Key',
        secretReferenceRef: 'v',
        secretKey: 'k',
        valueFormat: 'json',
      },
    ],
  },
  McpServer: { name: 'x', description: 'd', slug: 'x-server', mcpIntegrationRef: 'i' },
  GuardrailMcpBinding: {
    guardrailRef: 'g',
    mcpServerRef: 's',
    runOn: ['input'],
    mcpIntegrationCapabilityIds: ['018f2f0e-5a70-7c3e-9d0a-2f2b8c1d4e5f'],
  },
  UsageLimitPolicy: {
    name: 'x',
    description: 'd',
    conditions: [
      { key: 'api_key', apiKeyRef: 'k' },
      { key: 'metadata.a', value: ['x'], excludes: ['y'] },
      { key: 'api_key', value: '*', excludes: [{ apiKeyRef: 'k' }] },
    ],
    groupBy: [{ key: 'api_key' }],
    ...budget,
  },
  RateLimitPolicy: {
    name: 'x',
    description: 'd',
    conditions: [
      { key: 'endpoint_type', value: ['chat_completions', 'messages'] },
      { key: 'api_key', value: '*', excludes: [{ apiKeyRef: 'k' }] },
    ],
    groupBy: [{ key: 'api_key' }],
    type: 'tokens',
    unit: 'rpm',
    value: 1000,
    target: 'llm',
  },
  Integration: {
    name: 'x',
    slug: 'x',
    description: 'd',
    aiProviderId: 'openai',
    key: { valueFrom: { env: 'T' } },
    configurations: { custom_host: 'https://models.example.com/v1', openai_project: 'p' },
    secretMappings: [{ targetField: 'key', secretReferenceRef: 'v' }],
    pricingAdjustments: { multiplier: { default: 1.5, image: { default: 1 } } },
    tags: { team: 'a' },
    allowAllModels: false,
    models: [
      {
        slug: 'gpt-4o',
        enabled: true,
        isCustom: false,
        isFinetune: true,
        baseModelSlug: 'gpt-4o',
        configurations: { custom_headers: { 'X-Team': 'a' } },
        pricingConfig: { type: 'static', payAsYouGo: { requestToken: { price: 0.00025 } } },
      },
    ],
    globalWorkspaceAccess: { enabled: false },
    workspaces: [
      { workspaceRef: 'w', enabled: true, usageLimits: budget },
      {
        workspaceRef: 'w',
        enabled: false,
        rateLimits: [{ type: 'tokens', unit: 'rpd', value: 1 }],
      },
    ],
  },
  Provider: {
    name: 'x',
    slug: 'x',
    integrationRef: 'ai',
    note: 'n',
    usageLimits: budget,
    rateLimits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    expiresAt: '2092-01-01T00:00:00Z',
  },
  PromptLabel: { name: 'staging', description: 'd', colorCode: '#2f6fde' },
  PromptCollection: { name: 'x', slug: 'x', parentCollectionRef: 'c' },
  PromptPartial: { name: 'x', slug: 'tone', string: 'Be {{tone}}.', versionDescription: 'd' },
  Prompt: {
    name: 'x',
    slug: 'x',
    collectionRef: 'c',
    providerRef: 'p',
    string: 'Hello {{name}}',
    parameters: { temperature: 0.5 },
    model: 'm',
    functions: [{ name: 'f' }],
    tools: [{ type: 'function' }],
    toolChoice: 'auto',
    templateMetadata: { env: 'test' },
    isRawTemplate: 1,
    versionDescription: 'd',
  },
  OrganisationDefaults: {
    inputGuardrails: [{ guardrailRef: 'g' }, 'pg-slug-0a1b2c'],
    outputGuardrails: [{ guardrailRef: 'g' }],
    exportSettings: { deniedFields: ['response'] },
    apiKeyMaxTtlDays: 365,
  },
  GuardrailExclusion: { inputGuardrails: true, outputGuardrails: false },
  WorkspaceGuardrails: {
    inputGuardrails: [{ guardrailRef: 'g' }, 'pg-slug-0a1b2c'],
    outputGuardrails: [{ guardrailRef: 'g' }],
  },
  Deployment: {
    name: 'East',
    slug: 'east',
    type: 'production',
    isDefault: true,
    sourceType: 'helm',
    tags: { Region_Name: 'eu' },
    deploymentConfig: { anyKey: [1] },
    authSettings: {
      gatewayBaseUrl: 'https://gateway.example.com',
      mcpGatewayBaseUrl: null,
      isDataserviceHosted: 0,
      isPlaygroundProxyAllowed: 1,
      workspacesAllowed: [{ workspaceRef: 'w' }, 'slug'],
      jwtSubsAllowed: ['a'],
      jwtSubWorkspaceMapping: { Anna_B: { workspaceRef: 'w' }, b: 'slug' },
      allowAllWorkspaces: false,
    },
  },
  ScimMapping: { scimGroupName: 'Support', role: 'manager' },
  ServiceAccount: {
    name: 'x',
    roles: ['workspace_member'],
    description: 'd',
    status: 'disabled',
    secretOutput: { file: { path: 'x.secret', mode: '0600' } },
    rotation: { period: '30d', overlap: '24h', generation: 2 },
  },
  TenantServiceGroup: { name: 'x', description: 'd' },
};

function documentOf(kind: KindName, spec: unknown): Document {
  const isAbove =
    kinds[kind].workspaced === 'none' || ['GuardrailMcpBinding', 'Integration'].includes(kind);
  const name = kinds[kind].isSingleton === true ? singletonName : 'x';
  const metadata = isAbove ? { name } : { name, workspace: 'w' };
  return { apiVersion, kind, metadata, spec };
}

/** Not strict, because the schemas contain hints for editors. */
const ajv = new Ajv({ strict: false, allErrors: false });
const judges = new Map<string, (document: unknown) => boolean>();

beforeAll(async () => {
  for (const kind of kindNames) judges.set(kind, ajv.compile(await kindSchema(kind)));
  judges.set('any', ajv.compile(await anySchema()));
});

/** The faults that `validate` reports for a document, by code and message. */
async function faultsOf(document: Document, environment: Record<string, string> = {}) {
  const text = JSON.stringify(document);
  // Skips the resources that the document does not name, because thousands of documents are read.
  const given = text + JSON.stringify(environment);
  const named = others.filter(({ name }) => given.includes(`"${name}"`));
  const referents = [workspace!, ...named].map((one) => one.text);
  const { faults = [] } = await readTexts(
    { 'a.yaml': text, 'referents.yaml': referents.join('---\n') },
    { environment: { T: 'secret', ...environment } },
  );
  return faults.map(({ code, message }) => `${code}: ${message}`);
}

/** Every path of a value, as keys. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    [...path, key],
    ...placesIn(item, [...path, key]),
  ]);
}

/** A copy in which `change` was applied to the parent of the last key. */
function changed(
  document: Document,
  path: readonly string[],
  change: (holder: Record<string, unknown>, key: string) => void,
): Document {
  const copy = structuredClone(document);
  let holder = copy as Record<string, unknown>;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, unknown>;
  change(holder, path.at(-1)!);
  return copy;
}

const wrongValues: readonly unknown[] = [
  null,
  '',
  'x',
  'a b',
  -1,
  0,
  1,
  1.5,
  1e15,
  true,
  false,
  [],
  ['x'],
  {},
  { a: 1 },
  'x'.repeat(6000),
  [null],
  [{}],
  '/etc/passwd',
  '../x',
  'a/b/c',
];

function* mistakesIn(document: Document): Generator<readonly [string, Document]> {
  for (const path of placesIn(document)) {
    const place = path.join('.');
    yield [`${place} left out`, changed(document, path, (holder, key) => delete holder[key])];
    for (const value of wrongValues) {
      const displayed = JSON.stringify(value).slice(0, 20);
      yield [
        `${place} = ${displayed}`,
        changed(document, path, (holder, key) => {
          holder[key] = value;
        }),
      ];
    }
    yield [
      `${place} with another beside it`,
      changed(document, path, (holder) => {
        if (!Array.isArray(holder)) holder.surprise = 1;
      }),
    ];
    const snake = path.at(-1)!.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (snake === path.at(-1)) continue;
    yield [
      `${place} in the other spelling`,
      changed(document, path, (holder, key) => {
        holder[snake] = holder[key];
        delete holder[key];
      }),
    ];
    yield [
      `${place} in both`,
      changed(document, path, (holder, key) => {
        holder[snake] = holder[key];
      }),
    ];
  }
}

/** Rules that a JSON Schema cannot express, or omits to keep its messages readable. */
const beyondSchemas: readonly RegExp[] = [
  /^(?:dangling-reference|unknown-guardrail): /,
  // Which stores hold secrets, and which headers carry one.
  /^secret-missing: |^secret-literal: /,
  // Ids of checks are compared without regard to case, and parameters depend on the check.
  /^wrong-value: spec\.checks\[\d+\]\.id is not a known check: /,
  /^wrong-value: spec\.checks\[\d+\]\.parameters\./,
  // The members of an inline guardrail are its checks and its actions.
  /^wrong-value: spec\.config\.[\w[\].]*(input|output)_guardrails\[\d+\](\.| has no checks)/,
  /^wrong-value: spec\.(checks|actions) is required for target llm$/,
  // Rules between two fields.
  /must not exceed credit_limit$|requires periodic_reset or periodic_reset_days$/,
  /metadata\.workspace is required for a workspace key$/,
  /^wrong-value: spec\.(url|configurations\.custom_host|authSettings\.\w+BaseUrl) must /,
  /^wrong-value: spec\.ai_provider_id is not a known service/,
  // The fields depend on the service.
  /^wrong-value: spec\.secret_mappings\[\d+\]\.target_field /,
  /, which (inference requests|calls of MCP tools) do not have \(target: \w+\)$/,
  /^wrong-value: spec\.auth_config\.\w+ (is required for|must be one of) /,
  /^wrong-value: spec\.(allowed_workspaces|auth_settings\.workspaces_allowed) must be omitted if allow_all_workspaces is true$/,
  /^rotation: rotation.overlap is shorter or longer than the server allows$/,
];

/** The schedule of a key has two alternative forms. */
const { rotationPolicy: _, ...key } = specs.ApiKey;
const rotating = { ...key, rotation: { period: '30d', overlap: '24h', generation: 2 } };
const cases = [
  ...kindNames.map((kind) => [kind, kind, specs[kind]] as const),
  ['ApiKey that rotates', 'ApiKey', rotating] as const,
];

describe.each(cases)('%s', (_name, kind, spec) => {
  it('is accepted by its own schema and by that of any manifest, in both spellings', async () => {
    const document = documentOf(kind, spec);
    expect(await faultsOf(document)).toEqual([]);
    expect([judges.get(kind)!(document), judges.get('any')!(document)]).toEqual([true, true]);
  });

  it('is rejected by the schema exactly where validate rejects it', async () => {
    const document = documentOf(kind, spec);
    const differences: string[] = [];
    for (const [mistake, wrong] of mistakesIn(document)) {
      // A document of another program is ignored.
      if (wrong.apiVersion !== apiVersion) continue;
      const faults = await faultsOf(wrong);
      const isTaken = judges.get(kind)!(wrong);
      if (isTaken !== judges.get('any')!(wrong) && wrong.kind === kind)
        differences.push(`${mistake}: any differs`);
      if (isTaken === (faults.length === 0)) continue;
      if (isTaken && faults.every((fault) => beyondSchemas.some((known) => known.test(fault))))
        continue;
      differences.push(
        `${mistake}: schema ${isTaken ? 'takes' : 'refuses'} it, ${faults.join('; ').slice(0, 200)}`,
      );
    }
    expect(differences).toEqual([]);
  });
});

it('accepts the examples against the schema of any manifest', () => {
  const folder = resolve(import.meta.dirname, '../../../../examples');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const documents = names
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => loadAll(readFileSync(join(folder, name), 'utf8')))
    .filter((document) => (document as Document).apiVersion === apiVersion);
  expect(documents.length).toBeGreaterThan(5);
  expect(documents.filter((document) => !judges.get('any')!(document))).toEqual([]);
});

it.each([
  ['valid', { apiVersion, kind: 'Defaults', spec: { ApiKey: { scopes: ['logs.view'] } } }],
  ['unknown kind', { apiVersion, kind: 'Defaults', spec: { ApiKye: {} } }],
  ['named', { apiVersion, kind: 'Defaults', metadata: { name: 'a' }, spec: {} }],
  ['not a map', { apiVersion, kind: 'Defaults', spec: { ApiKey: [] } }],
  ['another version', { apiVersion: 'gatewright.dev/v2', kind: 'Defaults', spec: {} }],
])('agrees with validate on defaults: %s', async (_, document) => {
  const { faults } = await readTexts({ 'defaults.yaml': dump(document) });
  expect([judges.get('any')!(document), faults]).toEqual([faults === undefined, faults]);
});

describe('every kind', () => {
  it.each(kindNames)('%s accepts a variable for any single value', async (kind) => {
    const document = documentOf(kind, specs[kind]);
    const differences: string[] = [];
    for (const path of placesIn(document.spec, ['spec'])) {
      const value = path.reduce<unknown>((at, key) => (at as Document)[key], document);
      // The schema of a spec does not type the parameters of a check.
      if (typeof value === 'object' || path.includes('parameters')) continue;
      const wrong = changed(document, path, (holder, key) => {
        holder[key] = `\${GW_VAR_X}`;
      });
      const faults = await faultsOf(wrong, { GW_VAR_X: String(value) });
      if (judges.get(kind)!(wrong) === (faults.length === 0)) continue;
      differences.push(`${path.join('.')}: ${faults.join('; ')}`);
    }
    expect(differences).toEqual([]);
  });

  it.each(kindNames)('%s: documents each field', async (kind) => {
    const silent: string[] = [];
    const visit = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      for (const [key, value] of Object.entries(schema)) {
        if (key === 'properties') {
          for (const [name, field] of Object.entries(value as Document)) {
            const { description } = field as { description?: string };
            if (description === undefined || !/^[A-Z].*\.$/.test(description)) {
              silent.push(`${path}.${name}: ${description}`);
            }
            visit(field, `${path}.${name}`);
          }
        } else if (!['if', 'then', 'dependencies', 'not', 'default', 'examples'].includes(key)) {
          visit(value, path);
        }
      }
    };
    visit(await kindSchema(kind), kind);
    expect(silent).toEqual([]);
  });
});

describe('the envelope', () => {
  it('has every field and annotation of metadata', async () => {
    const { properties } = (await kindSchema('ApiKey')) as {
      properties: { metadata: { properties: Record<string, { properties: Document }> } };
    };
    const { metadata } = properties;
    expect(Object.keys(metadata.properties).toSorted()).toEqual(metadataKeys.toSorted());
    expect(Object.keys(metadata.properties.annotations!.properties)).toEqual([
      ...annotations.keys(),
    ]);
  });

  const spec = { scopes: ['logs.view'] };
  const metadata = { name: 'a', workspace: 'w' };
  const base = { apiVersion, kind: 'ApiKey', metadata, spec };
  it.each([
    ['labels', { ...base, metadata: { ...metadata, labels: { a: 'b' } } }],
    ['a label that is a number', { ...base, metadata: { ...metadata, labels: { a: 1 } } }],
    ['an unknown gatewright annotation', annotated('gatewright.dev/other', 'x')],
    ['an invalid annotation value', annotated('gatewright.dev/deletion', 'x')],
    ['an annotation', annotated('gatewright.dev/deletion', 'retain')],
    ['an annotation of another program', annotated('example.com/a', 1)],
    ['former names', { ...base, metadata: { ...metadata, previousNames: ['b'] } }],
    ['a former name with a space', { ...base, metadata: { ...metadata, previousNames: ['b c'] } }],
    [
      'fields of other tools',
      { ...base, metadata: { ...metadata, ignoreFields: ['spec.scopes'] } },
    ],
    [
      'fields of other tools as text',
      { ...base, metadata: { ...metadata, ignoreFields: 'scopes' } },
    ],
    ['protection as text', { ...base, metadata: { ...metadata, protected: 'yes' } }],
    ['a tombstone', { ...base, state: 'absent', spec: { what: 'ever' } }],
    ['a tombstone without a spec', { apiVersion, kind: 'ApiKey', metadata, state: 'absent' }],
    ['another state', { ...base, state: 'gone' }],
    ['no metadata', { apiVersion, kind: 'ApiKey', spec }],
    ['a workspace in a workspace', { apiVersion, kind: 'Workspace', metadata }],
    ['a server without workspace', documentIn({ name: 'x' }, 'McpServer', specs.McpServer)],
    ['another kind', { ...base, kind: 'ApiKye' }],
    ['a list', { kind: 'List', items: [base] }],
    ['a list in a list', { apiVersion, kind: 'List', items: [{ kind: 'List', items: [] }] }],
    ['a list without items', { apiVersion, kind: 'List' }],
    ['an external by slug and id', externalOf({ kind: 'Config', slug: 'a', id: 'b' })],
    ['an external by id', externalOf({ kind: 'Config', id: 'b' })],
    ['an external by name', externalOf({ kind: 'Config', name: 'b' })],
    ['an external by name and id', externalOf({ kind: 'Config', name: 'a', id: 'b' })],
    ['an external of no kind', externalOf({ kind: 'External', id: 'b' })],
    ['an external that is absent', { ...externalOf({ kind: 'Config', id: 'b' }), state: 'absent' }],
  ])('%s: agrees with validate on any manifest', async (_, document) => {
    const faults = await faultsOf(document);
    expect([judges.get('any')!(document), faults]).toEqual([faults.length === 0, faults]);
  });

  function annotated(key: string, value: unknown): Document {
    return { ...base, metadata: { ...metadata, annotations: { [key]: value } } };
  }

  function documentIn(inner: Document, kind: string, inside: unknown): Document {
    return { apiVersion, kind, metadata: inner, spec: inside };
  }

  function externalOf(inside: Document): Document {
    return { apiVersion, kind: 'External', metadata: { name: 'e' }, spec: inside };
  }
});
