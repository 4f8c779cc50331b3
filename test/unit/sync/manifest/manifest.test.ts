/** Tests the content of manifests, and the report of each fault. */
import { describe, expect, it } from 'vitest';
import {
  inSupport,
  manifest,
  placesOf,
  readTexts,
  resourcesOf,
  support,
} from '../../../support/sync/manifests.ts';

const workspace = 'apiVersion: gatewright.dev/v1\nkind: Workspace\n';

async function faultOf(text: string, options?: Parameters<typeof readTexts>[1]) {
  const { faults = [] } = await readTexts({ 'a.yaml': text, 's.yaml': support }, options);
  return faults.map(
    ({ position: { line, column }, code, fix }) =>
      `${line}:${column} ${code}${fix === undefined ? '' : ` | ${fix}`}`,
  );
}

async function specOf(text: string, options?: Parameters<typeof readTexts>[1]) {
  const resources = resourcesOf(await readTexts({ 'a.yaml': text, 's.yaml': support }, options));
  return resources.find(({ identity }) => identity.name !== 'support');
}

describe('the envelope', () => {
  it.each([
    [
      'kind: Workspace\nmetadata: {name: a}\n',
      '1:1 missing-field | write apiVersion: gatewright.dev/v1',
    ],
    [
      'apiVersion: v1\nkind: Workspace\nmetadata: {name: a}\n',
      "1:13 api-version | write apiVersion: gatewright.dev/v1, or name the file in .gatewrightignore if it is another program's",
    ],
    [
      'apiVersion: gatewright.dev/v1\nkind: Workspce\nmetadata: {name: a}\n',
      '2:7 unknown-kind | did you mean "Workspace"?',
    ],
    [`${workspace}metadata: {name: a}\nspecs: {}\n`, '4:1 unknown-field | did you mean "spec"?'],
    [`${workspace}metadata: {name: a, label: {}}\n`, '3:21 unknown-field | did you mean "labels"?'],
    [`${workspace}metadata: {}\n`, '3:11 missing-field'],
    [`${workspace}metadata: {name: 12}\n`, '3:18 name | put it in quotes'],
    [`${workspace}metadata: {name: "a/b"}\n`, '3:18 name'],
    [
      `${workspace}metadata: {name: a, workspace: support}\n`,
      '3:32 workspace | remove metadata.workspace',
    ],
    [`${workspace}metadata: {name: a, protected: yes}\n`, '3:32 wrong-type'],
    [`${workspace}metadata: {name: a, labels: {x: 1}}\n`, '3:33 wrong-type | put it in quotes'],
    [`${workspace}metadata: {name: a, previousNames: [a]}\n`, '3:37 name'],
    [
      `${workspace}metadata: {name: a, annotations: {gatewright.dev/deletion: archive}}\n`,
      '3:60 annotation',
    ],
    [
      `${workspace}metadata: {name: a, annotations: {gatewright.dev/delete: retain}}\n`,
      '3:58 annotation | did you mean "gatewright.dev/deletion"?',
    ],
    [`${workspace}metadata: {name: a}\nstate: gone\n`, '4:8 wrong-value'],
    [
      `${workspace}metadata: {name: a, protected: true}\nstate: absent\n`,
      '3:32 protected | remove one of the two',
    ],
    [`${workspace}metadata: {name: a}\nspec: text\n`, '4:7 wrong-type'],
    [
      'just text\n',
      '1:1 not-a-manifest | a manifest begins with apiVersion: gatewright.dev/v1, kind and metadata',
    ],
    [manifest('McpServer', 'm', 'mcpIntegrationRef: x'), '3:11 workspace | set metadata.workspace'],
  ])('is a fault: %j', async (text, fault) => expect((await faultOf(text))[0]).toBe(fault));

  it('accepts annotations of other tools', async () => {
    const metadata = `${inSupport}, annotations: {argocd.argoproj.io/sync-wave: "1"}`;
    expect((await specOf(manifest('Config', 'c', 'config: {}', metadata)))?.onRemoval).toBe(
      'delete',
    );
  });

  it('contains protection, former names and the removal policy', async () => {
    const metadata = `${inSupport}, protected: true, previousNames: [old], annotations: {gatewright.dev/deletion: retain}`;
    expect(await specOf(manifest('Config', 'c', 'config: {}', metadata))).toMatchObject({
      protected: true,
      previousNames: ['old'],
      onRemoval: 'retain',
    });
  });

  it('may be a List of manifests, with their own positions', async () => {
    const item = (name: string, spec: string): string =>
      `  - {apiVersion: gatewright.dev/v1, kind: Workspace, metadata: {name: ${name}}, spec: ${spec}}\n`;
    const list = (items: string): string => `apiVersion: v1\nkind: List\nitems:\n${items}`;
    expect((await specOf(list(item('a', '{}'))))?.position).toEqual({
      file: 'a.yaml',
      line: 4,
      column: 5,
    });
    expect(await faultOf(list(item('a', '{}') + item('b', '{icon: 1}')))).toEqual([
      '5:88 wrong-type | put it in quotes',
    ]);
    expect(await faultOf('apiVersion: v1\nkind: List\n')).toEqual(['1:1 list-items']);
  });

  it('treats an empty workspace as none, and never drops the manifest', async () => {
    const text = manifest('ApiKey', 'bot', 'scopes: [completions.write]', ', workspace: ');
    const [resource] = resourcesOf(await readTexts({ 'a.yaml': text }));
    expect(resource?.identity).toEqual({ kind: 'ApiKey', workspace: null, name: 'bot' });
  });

  it('requires no spec for state absent', async () => {
    const text = `${workspace}metadata: {name: a}\nstate: absent\n`;
    expect(await specOf(text)).toMatchObject({ absent: true, spec: {}, references: [] });
  });
});

describe('spelling', () => {
  it('accepts camelCase and snake_case, and leaves verbatim parts unchanged', async () => {
    const camel =
      'scopes: [completions.write]\nusageLimits: {creditLimit: 5}\ndefaults: {metadata: {costCenter: x}}';
    const snake =
      'scopes: [completions.write]\nusage_limits: {credit_limit: 5}\ndefaults: {metadata: {costCenter: x}}';
    const one = await specOf(manifest('ApiKey', 'k', camel, inSupport));
    expect(one?.spec).toEqual((await specOf(manifest('ApiKey', 'k', snake, inSupport)))?.spec);
    expect(one?.spec).toMatchObject({
      usage_limits: { credit_limit: 5 },
      defaults: { metadata: { costCenter: 'x' } },
    });
  });

  it('rejects one field in both spellings', async () => {
    const text = manifest('Config', 'c', 'config: {}\nisDefault: 1\nname: x\nname_: y', inSupport);
    expect(await faultOf(text)).toEqual(['8:3 unknown-field | did you mean "name"?']);
    const twice = 'scopes: [mcp.invoke]\nusageLimits: {creditLimit: 5, credit_limit: 6}';
    expect(await faultOf(manifest('ApiKey', 'k', twice, inSupport))).toEqual([
      '6:47 duplicate-field | keep one of the two',
    ]);
  });

  it('keeps the spelling of the API: isDefault', async () => {
    const text = manifest('Config', 'c', 'config: {}\nisDefault: 1', inSupport);
    expect((await specOf(text))?.spec).toMatchObject({ isDefault: 1 });
  });
});

describe('a field of several forms', () => {
  it.each([
    ['true', '6:49', 'must be text or a list, not true or false'],
    ['{a: 1}', '6:49', 'must be text or a list, not a map'],
    ['[a, 1]', '6:53', 'must be text, not a number'],
    ['[]', '6:49', 'must have at least one item'],
  ])('rejects %s at %s: it %s', async (excludes, place, reported) => {
    const conditions = `conditions: [{key: model, value: x, excludes: ${excludes}}]`;
    const rest = 'groupBy: [{key: api_key}]\ntype: cost\ncreditLimit: 5';
    const text = manifest('UsageLimitPolicy', 'p', `name: p\n${conditions}\n${rest}`, inSupport);
    const { faults = [] } = await readTexts({ 'a.yaml': text, 's.yaml': support });
    expect(faults).toHaveLength(1);
    const { position, message } = faults[0]!;
    expect(`${position.line}:${position.column}`).toBe(place);
    expect(message).toContain(reported);
  });
});

describe('fields', () => {
  const key = (spec: string): string => manifest('ApiKey', 'k', spec, inSupport);

  it.each([
    ['description: x', '5:3 missing-field'],
    ['scopes: mcp.invoke', '5:11 wrong-type'],
    ['scopes: [mcp.invok]', '5:12 wrong-value | did you mean "mcp.invoke"?'],
    ['scopes: []', '5:11 wrong-value'],
    ['scopes: [mcp.invoke]\ndescription: 12', '6:16 wrong-type | put it in quotes'],
    ['scopes: [mcp.invoke]\nexpiresAt: tomorrow', '6:14 wrong-value'],
    ['scopes: [mcp.invoke]\nexpiresAt: 2027-02-30T00:00:00Z', '6:14 wrong-value'],
    ['scopes: [mcp.invoke]\nalertEmails: [x]', '6:17 wrong-value'],
    [
      'scopes: [mcp.invoke]\nusageLimits: {creditLimit: "5"}',
      '6:30 wrong-type | remove the quotes',
    ],
    ['scopes: [mcp.invoke]\nusageLimits: {creditLimit: 5, alertThreshold: 6}', '6:49 wrong-value'],
    // One fault for all bounds of a value.
    ['scopes: [mcp.invoke]\nusageLimits: {creditLimit: -4}', '6:30 wrong-value'],
    ['scopes: [mcp.invoke]\nrateLimits: [{type: requests, unit: rpm}]', '6:16 missing-field'],
    ['scopes: [mcp.invoke]\ntype: organisation', '6:9 wrong-value'],
    ['scopes: [mcp.invoke]\nsubType: user', '5:3 missing-field'],
    ['scopes: [mcp.invoke]\nworkspaceId: x', '6:16 workspace | set metadata.workspace instead'],
    [
      'scopes: [mcp.invoke]\ndefaults: {metadata: {n: 9007199254740993}}',
      '6:28 number | put it in quotes if it is text',
    ],
    [
      'scopes: [mcp.invoke]\ndefaults: {metadata: {n: .inf}}',
      '6:28 number | put it in quotes if it is text',
    ],
    ['scopes: [mcp.invoke]\ndefaults: {metadata: {__proto__: 1}}', '6:36 unknown-field'],
  ])('reports %j', async (spec, fault) => expect(await faultOf(key(spec))).toEqual([fault]));

  it('normalises every spelling of a time', async () => {
    const spec = 'scopes: [mcp.invoke]\nexpiresAt: 2032-03-31T02:00:00+02:00';
    expect((await specOf(key(spec)))?.spec.expires_at).toBe('2032-03-31T00:00:00.000Z');
  });

  it('derives name, type and sub-type', async () => {
    expect((await specOf(key('scopes: [mcp.invoke]')))?.spec).toMatchObject({
      name: 'k',
      type: 'workspace',
      sub_type: 'service',
    });
    const text = manifest('ApiKey', 'k', 'scopes: [mcp.invoke]\nname: Other name');
    expect((await specOf(text))?.spec).toMatchObject({ name: 'Other name', type: 'organisation' });
  });

  it('distinguishes null from absent', async () => {
    const { spec } = (await specOf(key('scopes: [mcp.invoke]\nexpiresAt: null'))) ?? {};
    expect(spec).toHaveProperty('expires_at', null);
    expect(spec).not.toHaveProperty('description');
  });

  it('finds fields by their API path, for faults that the server reports', async () => {
    const spec = 'scopes: [mcp.invoke]\nusageLimits:\n  creditLimit: 5';
    const resource = await specOf(key(spec));
    expect(resource?.positionOf('/usage_limits/credit_limit')).toMatchObject({
      line: 7,
      column: 18,
    });
    expect(resource?.positionOf('/nowhere')).toMatchObject({ line: 5, column: 3 });
  });
});

describe('secrets', () => {
  const integration = (headers: string): string =>
    manifest(
      'McpIntegration',
      'crm',
      `url: https://crm.example.com\nauthType: headers\ntransport: http\nconfigurations: {customHeaders: ${headers}}`,
      inSupport,
    );
  const environment = { CRM_TOKEN: 'canary-1\n' };

  it('reads secrets from the environment or a file, and stores only the origin in the spec', async () => {
    const headers =
      '{A: {valueFrom: {env: CRM_TOKEN, prefix: "Bearer "}}, B: {valueFrom: {file: crm}}}';
    const resource = await specOf(integration(headers), {
      environment,
      stored: { 'file:crm': 'canary-2' },
    });
    expect(resource?.spec.configurations).toEqual({
      custom_headers: {
        A: { $secret: 'env:CRM_TOKEN', fingerprint: '' },
        B: { $secret: 'file:crm', fingerprint: '' },
      },
    });
    const values = [...(resource?.secrets ?? [])].map(([path, secret]) => [path, secret.reveal()]);
    expect(values).toEqual([
      ['/configurations/custom_headers/A', 'Bearer canary-1'],
      ['/configurations/custom_headers/B', 'canary-2'],
    ]);
    expect(JSON.stringify(resource)).not.toContain('canary');
  });

  it('reads secrets from Secrets and ConfigMaps, by name and key', async () => {
    const secret = '{kubernetesSecret: {namespace: n, name: s, key: k}';
    const headers = `{A: {valueFrom: ${secret}}}, B: {valueFrom: ${secret}, prefix: "Bearer "}},
  C: {valueFrom: {kubernetesConfigMap: {namespace: n, name: c, key: k}}}}`;
    const resource = await specOf(integration(headers), {
      stored: {
        'kubernetesSecret:n/s/k': 'canary-3\n',
        'kubernetesConfigMap:n/c/k': 'canary-4',
      },
    });
    expect([...(resource?.secrets ?? [])].map(([, one]) => [one.origin, one.reveal()])).toEqual([
      ['kubernetesSecret:n/s/k', 'canary-3'],
      ['kubernetesSecret:n/s/k', 'Bearer canary-3'],
      ['kubernetesConfigMap:n/c/k', 'canary-4'],
    ]);
    expect(JSON.stringify(resource)).not.toContain('canary');
  });

  it('accepts secrets as text only where no credential belongs, and still compares them as secrets', async () => {
    const resource = await specOf(integration('{X-Client: quickstart}'));
    expect(resource?.spec.configurations).toEqual({
      custom_headers: { 'X-Client': { $secret: 'text:quickstart', fingerprint: '' } },
    });
  });

  it.each([
    ['{Authorization: Bearer abc}', 'secret-literal'],
    ['{X-Api-Key: abc}', 'secret-literal'],
    ['{Cookie: abc}', 'secret-literal'],
    ['{X-Any: "sk-abcdefghijklmnopqrstuvwx"}', 'secret-literal'],
    ['{A: {valueFrom: {env: UNSET}}}', 'secret-missing'],
    ['{A: {valueFrom: {file: unset}}}', 'secret-missing'],
    ['{A: {valueFrom: {file: /etc/passwd}}}', 'value-from'],
    ['{A: {valueFrom: {file: crm/../../credentials.json}}}', 'value-from'],
    ['{A: {valueFrom: {secretKeyRef: {name: x}}}}', 'value-from'],
    ['{A: {valueFrom: {kubernetesSecret: {name: x}}}}', 'value-from'],
    ['{A: {valueFrom: {kubernetesSecret: {namespace: n, name: x, key: "."}}}}', 'value-from'],
    ['{A: {valueFrom: {kubernetesSecret: {namespace: n, name: x, key: k}}}}', 'secret-missing'],
    [
      '{A: {valueFrom: {kubernetesConfigMap: {namespace: n, name: x, key: k}, file: y}}}',
      'value-from',
    ],
    ['{A: {valueFrom: {env: A, file: b}}}', 'value-from'],
    ['{A: {valueFrom: {env: "A B"}}}', 'value-from'],
    ['{A: {valueFrom: {envv: A}}}', 'value-from'],
    ['{A: {valueFrom: {env: CRM_TOKEN}, extra: 1}}', 'value-from'],
    ['{A: {valueFrom: x}}', 'value-from'],
  ])('reports %s as a fault', async (headers, code) => {
    const { faults = [] } = await readTexts(
      { 'a.yaml': integration(headers), 's.yaml': support },
      { environment },
    );
    expect(faults.map((fault) => fault.code)).toEqual([code]);
    expect(JSON.stringify(faults)).not.toMatch(/Bearer abc|sk-abc|canary/);
  });

  it.each([
    ['{$ref: Config/support/other}', ['stand-in']],
    ['{a: [{$ref: ""}]}', ['stand-in']],
    ['{$secret: "env:A", fingerprint: ""}', ['stand-in']],
    ['{$ref: "#/$defs/answer", description: x}', []],
    ['{$secret: x}', []],
  ])(
    'treats %s in a document as text, not as a placeholder for a reference or a secret',
    async (value, codes) => {
      const config = `apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: c, workspace: support}
spec: {config: {override_params: ${value}}}
`;
      const { faults = [] } = await readTexts({ 'a.yaml': config, 's.yaml': support });
      expect(faults.map(({ code }) => code)).toEqual(codes);
    },
  );

  it('accepts a missing secret in a check', async () => {
    const text = integration('{A: {valueFrom: {env: UNSET}}}');
    expect((await specOf(text, { requireSecrets: false }))?.spec).toBeDefined();
  });

  it.each([
    ['sk-proj-abcdefghijklmnopqrst'],
    ['ghp_abcdefghijklmnopqrstuvwxyz0123456789'],
    ['AKIAABCDEFGHIJKLMNOP'],
    ['xoxb-123456789012-abcdef'],
    ['-----BEGIN RSA PRIVATE KEY-----'],
    ['Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijkl'],
  ])('recognises a secret in any text: %s', async (text) => {
    const config = manifest('Config', 'c', `config: {metadata: "${text}"}`, inSupport);
    expect(await faultOf(config)).toEqual([
      '5:22 secret-literal | keep credentials out of the source',
    ]);
  });

  it('rejects secrets where the API would show them', async () => {
    const config = manifest('Config', 'c', 'config: {trace_id: {valueFrom: {env: A}}}', inSupport);
    const places = 'secret fields of a Config are spec.config.api_key, ';
    expect(await faultOf(config)).toEqual([expect.stringContaining(`5:22 value-from | ${places}`)]);
    const guardrail = manifest('Guardrail', 'g', 'checks: {valueFrom: {env: A}}', inSupport);
    expect(await faultOf(guardrail)).toEqual([
      expect.stringContaining('value-from | secret fields of a Guardrail are spec.checks.*.param'),
    ]);
    const label = manifest('PromptLabel', 'p', 'description: {valueFrom: {env: A}}', inSupport);
    expect(await faultOf(label)).toEqual([
      expect.stringContaining('value-from | a PromptLabel has no secret fields'),
    ]);
  });

  it.each([
    'config: {api_key: "sk-proj-abcdefghijklmnopqrst"}',
    'config: {api_key: any}',
    'config: {targets: [{targets: [{api_key: any}]}]}',
    'config: {override_params: {tools: [{type: mcp, headers: {Authorization: any}}]}}',
    'config: {aws_secret_access_key: any}',
  ])('rejects credentials of a config that are no valueFrom: %s', async (spec) => {
    const faults = await faultOf(manifest('Config', 'c', spec, inSupport));
    expect(faults).toEqual([
      expect.stringMatching(/secret-literal \| write \{valueFrom: \{env: NAME\}\}$/),
    ]);
  });

  it('takes members of a document for text where they only have the name of a secret', async () => {
    const schema = '{type: object, properties: {api_key: {type: string}, headers: {type: object}}}';
    const spec = `config: {override_params: {response_format: ${schema}}, metadata: {api_key: x}}`;
    const resource = await specOf(manifest('Config', 'c', spec, inSupport));
    expect(resource?.secrets.size).toBe(0);
  });
});

describe('secretOutput', () => {
  const key = (output: string): string =>
    manifest('ApiKey', 'k', `scopes: [mcp.invoke]\nsecretOutput: ${output}`, inSupport);

  it('names a file in the secrets folder and its mode', async () => {
    expect((await specOf(key('{file: {path: a/b.key, mode: "0640"}}')))?.secretOutput).toEqual({
      sink: 'file',
      path: 'a/b.key',
      mode: 0o640,
    });
    const resource = await specOf(key('{file: {path: b.key}}'));
    expect(resource?.secretOutput).toEqual({ sink: 'file', path: 'b.key', mode: 0o600 });
    expect(resource?.spec).not.toHaveProperty('secret_output');
  });

  it('names a key of a Secret, which no two keys share', async () => {
    const place = { namespace: 'apps', name: 'bot.v1', key: 'API_KEY' };
    const output = `{kubernetesSecret: ${JSON.stringify(place)}}`;
    const resource = await specOf(key(output));
    expect(resource?.secretOutput).toEqual({ sink: 'kubernetesSecret', ...place });
    const twin = key(output).replace('name: k', 'name: twin');
    const { faults = [] } = await readTexts({
      'a.yaml': key(output),
      'b.yaml': twin,
      's.yaml': support,
    });
    expect(faults.map(({ code }) => code)).toEqual(['duplicate']);
  });

  it.each([
    '{kubernetes: {name: x}}',
    '{kubernetesSecret: {namespace: a, name: b}}',
    '{kubernetesSecret: {namespace: a, name: b, key: c/d}}',
    '{kubernetesSecret: {namespace: A, name: b, key: c}}',
    '{kubernetesSecret: {namespace: a, name: b, key: c, type: d}}',
    '{kubernetesSecret: a/b/c}',
    '{kubernetesConfigMap: {namespace: a, name: b, key: c}}',
    '{file: {path: x}, kubernetesSecret: {namespace: a, name: b, key: c}}',
    '{}',
    '{files: {path: x}}',
    '{file: {path: /etc/x}}',
    '{file: {path: ../x}}',
    '{file: {path: a//x}}',
    '{file: {path: .hidden}}',
    '{file: {path: "a\\\\b"}}',
    '{file: {path: x, mode: 0600}}',
    '{file: {path: x, mode: "0666"}}',
    '{file: {path: x, mode: "0200"}}',
    '{file: {path: x, owner: me}}',
    '{file: x}',
    'x',
  ])('rejects %s', async (output) => {
    const { faults = [] } = await readTexts({ 'a.yaml': key(output), 's.yaml': support });
    expect(faults.map(({ code }) => code)).toEqual(['secret-output']);
  });
});

describe('rotation', () => {
  const key = (rotation: string, more = ', secretOutput: {file: {path: k.key}}'): string =>
    manifest('ApiKey', 'k', `{scopes: [mcp.invoke]${more}, rotation: ${rotation}}`, inSupport);

  it.each([
    ['{period: weekly}', 1, { rotation_period: 'weekly' }],
    [
      '{period: monthly, overlap: 7d}',
      1,
      { rotation_period: 'monthly', key_transition_period_ms: 604_800_000 },
    ],
    [
      '{period: 365d, overlap: 30m, generation: 3}',
      3,
      { rotation_period_days: 365, key_transition_period_ms: 1_800_000 },
    ],
    ['{generation: 7}', 7, undefined],
    ['{}', 1, undefined],
  ])(
    'translates %s to generation %i and the policy of the server',
    async (rotation, generation, policy) => {
      const resource = await specOf(key(rotation));
      expect(resource?.rotation?.generation).toBe(generation);
      expect(resource?.rotation?.isPeriodic).toBe(rotation.includes('period'));
      expect(resource?.spec.rotation_policy).toEqual(policy);
      expect(resource?.spec).not.toHaveProperty('rotation');
    },
  );

  it.each([
    'x',
    '{every: 30d}',
    '{period: 0d}',
    '{period: 366d}',
    '{period: daily}',
    '{period: 1d, overlap: 24h}',
    '{overlap: 29m}',
    '{overlap: 366d}',
    '{overlap: 30}',
    '{generation: 0}',
    '{generation: 1.5}',
    '{generation: "2"}',
  ])('rejects %s', async (rotation) => {
    const { faults = [] } = await readTexts({ 'a.yaml': key(rotation), 's.yaml': support });
    expect(faults.map(({ code }) => code)).toEqual(['rotation']);
  });

  it('requires an output for the value, and excludes an own policy', async () => {
    const alone = key('{generation: 2}', '');
    expect((await faultOf(alone)).join()).toContain('rotation | add secretOutput');
    const twice = key(
      '{}',
      ', secretOutput: {file: {path: k}}, rotationPolicy: {rotationPeriod: weekly}',
    );
    expect((await faultOf(twice)).join()).toContain('rotation | remove rotationPolicy');
  });
});

it('reports all faults of all files in one pass, in the order of their positions', async () => {
  const texts = {
    'b.yaml': `${manifest('Config', 'x', 'config: 1\nsurprise: 2', inSupport)}---\na: b: c\n`,
    'a.yaml': 'kind: Workspace\nmetadata: {name: 1}\n',
    'c.yaml': support,
  };
  expect(placesOf(await readTexts(texts))).toEqual([
    'a.yaml:1:1 missing-field',
    'a.yaml:2:18 name',
    'b.yaml:5:11 wrong-type',
    'b.yaml:6:3 unknown-field',
    'b.yaml:8:5 yaml-syntax',
  ]);
});
