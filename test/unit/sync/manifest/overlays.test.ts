/** Tests the effect of environments, folder defaults and values on the same manifests. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireValidPart } from '../../../../src/commands/sources/valid-part.ts';
import { Failure } from '../../../../src/failure.ts';
import { checkSource, readDesired, readSource } from '../../../../src/sync/desired/desired.ts';
import { merge } from '../../../../src/sync/overlay/merge.ts';
import { planDocument } from '../../../../src/sync/report/document.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import { type DesiredSet, placeText } from '../../../../src/sync/resources/resource-set.ts';
import { valueAt } from '../../../../src/sync/resources/spec-paths.ts';
import { readSources } from '../../../../src/sync/source/source.ts';
import type { SourceFiles } from '../../../../src/sync/source/source-files.ts';
import { isMap } from '../../../../src/sync/yaml/map-fields.ts';
import { runWords } from '../../../support/server/command-line.ts';
import { inSupport, manifest, support } from '../../../support/sync/manifests.ts';
import { canary, sopsFile, testIdentity } from '../../../support/sync/sops-files.ts';
import { ModelServer } from '../../../support/sync/sync-model.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatewright-overlays-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const secrets = {
  environment: (name: string) => ({ GW_VAR_TEAM: 'cx' })[name],
  readValue: async () => undefined,
  requireSecrets: false,
};

type Texts = Readonly<Record<string, string>>;

function write(texts: Texts): void {
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

async function filesOf(
  texts: Texts,
  environment: string | null,
  locations = ['.'],
): Promise<SourceFiles> {
  write(texts);
  return await readSources(locations, {
    cwd: root,
    cacheDirectory: join(root, '.git-cache'),
    environment,
  });
}

async function setOf(
  texts: Texts,
  environment: string | null = 'prod',
  locations?: string[],
): Promise<DesiredSet> {
  const { set, faults } = await readDesired(await filesOf(texts, environment, locations), secrets);
  if (set === undefined) throw new Error(JSON.stringify(faults, null, 1));
  return set;
}

/** The spec of the one resource of a name, without the fields that its envelope adds. */
async function specOf(texts: Texts, environment?: string | null, name = 'bot'): Promise<unknown> {
  const { resources } = await setOf(texts, environment);
  const { spec } = resources.find(({ identity }) => identity.name === name)!;
  const { name: _, type, sub_type: subType, workspace_id: workspace, ...own } = spec;
  return own;
}

/** `position (other positions) message | fix` of each fault. */
async function faultsOf(texts: Texts, environment: string | null = 'prod'): Promise<string[]> {
  const { faults } = await checkSource(await filesOf(texts, environment), secrets);
  return faults.map(({ position, message, fix }) =>
    [`${placeText(position)} ${message}`, fix].filter((part) => part !== undefined).join(' | '),
  );
}

const key = (spec: string, metadata = inSupport): string =>
  manifest('ApiKey', 'bot', `scopes: [logs.view]\n${spec}`, metadata);
const patch = (spec: string, name = 'bot', kind = 'ApiKey', metadata = inSupport): string =>
  `patch: true\n${manifest(kind, name, spec, metadata)}`;
const base = (spec: string): Texts => ({ 'ws.yaml': support, 'keys.yaml': key(spec) });
const defaults = (spec: string): string =>
  `apiVersion: gatewright.dev/v1\nkind: Defaults\nspec:\n  ApiKey:\n    ${spec.trim().replaceAll('\n', '\n    ')}\n`;

const prodPatch = 'environments/prod/keys.yaml';
const prodValues = 'environments/prod/values.yaml';

describe('an environment', () => {
  it('has its own files; those of other environments are counted and not read', async () => {
    const files = await filesOf(
      {
        ...base(''),
        'environments/dev/keys.yaml': 'not: [yaml',
        'environments/dev/.gatewrightignore': '[\n',
        'environments/dev/deep/more.yaml': 'not: [yaml',
        'environments/prod/extra.yaml': manifest('Config', 'extra', 'config: {}', inSupport),
      },
      'prod',
    );
    expect(files.files.map(({ path }) => path)).toEqual([
      'environments/prod/extra.yaml',
      'keys.yaml',
      'ws.yaml',
    ]);
    const { leftAlone, faults, kinds } = await checkSource(files, secrets);
    expect([faults, kinds.length]).toEqual([[], 3]);
    expect(leftAlone.otherEnvironments).toEqual(['environments/dev/']);
  });

  it.each([
    [null, 'The source has environments (dev, prod), and none is selected. Select one with --env'],
    ['prd', 'The source has no folder environments/prd. It has dev, prod. did you mean "prod"?'],
  ])('accepts only existing environments: %j', async (chosen, message) => {
    const texts = {
      'environments/dev/values.yaml': 'a: 1\n',
      'environments/prod/values.yaml': 'a: 1\n',
    };
    const failure = await filesOf({ ...base(''), ...texts }, chosen).catch((error) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect([failure.kind, failure.message]).toEqual([
      'invalidInput',
      expect.stringContaining(message),
    ]);
  });

  it('rejects an environment that the source does not have, and requires none by default', async () => {
    await expect(filesOf(base(''), 'prod')).rejects.toThrow('It has no environments.');
    await expect(filesOf(base(''), null)).resolves.toMatchObject({ environments: [] });
  });

  it('has its own version of the source, independent of other environments', async () => {
    const texts = { ...base(''), [prodValues]: 'a: 1\n', 'environments/dev/values.yaml': 'a: 1\n' };
    const digest = async (more: Texts): Promise<string> =>
      (await setOf({ ...texts, ...more })).source.digest;
    const first = await digest({});
    expect(await digest({ 'environments/dev/values.yaml': 'a: 2\n' })).toBe(first);
    expect(await digest({ [prodValues]: 'a: 2\n' })).not.toBe(first);
  });

  it('is read from Git as from a folder', async () => {
    write({
      ...base('description: ${values.text}\n'),
      [prodValues]: 'text: in production\n',
      'environments/dev/values.yaml': 'text: [broken',
      'environments/dev/.gatewrightignore': '[\n',
    });
    const git = (...words: string[]): void => {
      const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
      execFileSync('git', [...identity, ...words], { cwd: root, stdio: 'ignore' });
    };
    git('init', '-b', 'main');
    git('add', '.');
    git('commit', '-m', 'a');
    const { resources, leftAlone } = await setOf({}, 'prod', [`file://${root}`]);
    expect(resources[0]?.spec.description).toBe('in production');
    expect(leftAlone.otherEnvironments).toEqual(['environments/dev/']);
    await expect(setOf({}, null, [`file://${root}`])).rejects.toThrow('(dev, prod)');
  });

  it('patches manifests in other locations', async () => {
    const texts = {
      'a/ws.yaml': support,
      'a/keys.yaml': key('description: ${values.text}'),
      [`b/${prodValues}`]: 'text: of b\n',
      [`b/${prodPatch}`]: patch('expiresAt: "2030-01-01T00:00:00Z"'),
    };
    const { resources } = await setOf(texts, 'prod', ['a', 'b']);
    expect(resources[0]?.spec).toMatchObject({
      description: 'of b',
      expires_at: '2030-01-01T00:00:00.000Z',
    });
  });
});

describe('values', () => {
  it('substitutes whole values with their type, and values within text as text', async () => {
    const spec = `
description: "\${values.name} of \${values.limits.requests}, \${GW_VAR_TEAM}"
rateLimits: \${values.limits.list}
defaults: {metadata: "\${values.metadata}"}
usageLimits: {creditLimit: "\${values.limits.requests}", periodicReset: "\${values.reset:-monthly}"}`;
    const values = `
name: prod
limits: {requests: 600, list: [{type: requests, unit: rpm, value: 600}]}
metadata: {team: cx}
`;
    expect(await specOf({ ...base(spec), [prodValues]: values })).toMatchObject({
      description: 'prod of 600, cx',
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 600 }],
      defaults: { metadata: { team: 'cx' } },
      usage_limits: { credit_limit: 600, periodic_reset: 'monthly' },
    });
  });

  it('keeps the values of each manifest separate, however each is changed', async () => {
    const config = (name: string): string => manifest('Config', name, 'config: ${values.c}');
    const texts = {
      'c.yaml': `${config('a')}---\n${config('b')}`,
      [prodValues]: 'c: {retry: {attempts: 2}}\n',
      'environments/prod/c.yaml': patch('config: {retry: {attempts: 5}}', 'b', 'Config', ''),
    };
    expect(await specOf(texts, 'prod', 'a')).toEqual({ config: { retry: { attempts: 2 } } });
    expect(await specOf(texts, 'prod', 'b')).toEqual({ config: { retry: { attempts: 5 } } });
  });

  it.each([
    [
      'description: "${values.nme}"',
      'keys.yaml:6:16 the value values.nme is not set | did you mean "name"?, or set a default: ${values.nme:-value}',
    ],
    [
      'description: "${values.other}"',
      'keys.yaml:6:16 the value values.other is not set | write other into environments/prod/values.yaml, or set a default: ${values.other:-value}',
    ],
    [
      'description: "a ${values.map}"',
      'keys.yaml:6:16 (value from environments/prod/values.yaml:2:6) values.map is a map, which cannot be part of a text | write ${values.map} alone',
    ],
    [
      'description: "${values.constructor}"',
      'keys.yaml:6:16 the value values.constructor is not set | write constructor into environments/prod/values.yaml, or set a default: ${values.constructor:-value}',
    ],
  ])('reports values that do not fit: %s', async (spec, reported) => {
    const texts = { ...base(spec), [prodValues]: 'name: prod\nmap: {a: 1}\n' };
    expect(await faultsOf(texts)).toEqual([reported]);
  });

  it('reports values of the wrong type with the positions of use and definition', async () => {
    const texts = {
      ...base('description: ${values.a.text}\nrateLimits: ${values.limits}'),
      [prodValues]: 'a:\n  text: 5\nlimits:\n  - {type: requests, unit: rpm, value: many}\n',
    };
    expect(await faultsOf(texts)).toEqual([
      'keys.yaml:6:16 (value from environments/prod/values.yaml:2:9) spec.description must be text, not a number | put it in quotes',
      'keys.yaml:7:15 (value from environments/prod/values.yaml:4:40) spec.rateLimits[0].value must be a number, not text',
    ]);
  });

  it.each([
    ['a: "${GW_VAR_TEAM}"', 'environments/prod/values.yaml:1:4 values read no variables'],
    ['a: "${values.b}"\nb: 1', 'environments/prod/values.yaml:1:4 the value values.b is not set'],
    ['a: ENC[x]\nsops: {mac: x}', 'environments/prod/values.yaml:2:1 values are not secrets'],
    ['- a', 'environments/prod/values.yaml:1:1 values must be one map'],
    ['a: 1\n---\nb: 1', 'environments/prod/values.yaml:3:1 values must be one map'],
    ['a: &x 1\nb: *x', 'environments/prod/values.yaml:1:4 anchors and aliases (& and *)'],
    ['a: 1\na: 2', 'environments/prod/values.yaml:2:1 the key "a" occurs twice'],
    ['a: [', 'environments/prod/values.yaml:1:4'],
  ])('rejects only the values that are wrong themselves: %j', async (values, reported) => {
    const texts = { ...base('description: ${values.a}'), [prodValues]: values };
    const [fault, ...others] = await faultsOf(texts);
    expect([fault, others.filter((other) => !other.includes('values.yaml'))]).toEqual([
      expect.stringContaining(reported),
      [],
    ]);
  });

  it('turns $${ into a literal ${, and null into a cleared field', async () => {
    const texts = {
      ...base('description: ${values.literal}\nexpiresAt: ${values.never}'),
      [prodValues]: 'literal: "$${HOME}"\nnever: null\n',
    };
    expect(await specOf(texts)).toMatchObject({ description: '${HOME}', expires_at: null });
  });

  it('rejects values that would exhaust the memory through repeated use', async () => {
    const big = `big: ${JSON.stringify(Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`k${at}`, 'x'.repeat(1000)])))}\n`;
    const uses = Array.from({ length: 20_000 }, () => '${values.big}');
    const texts = {
      'c.yaml': manifest('Config', 'c', `config: ${JSON.stringify({ all: uses })}`),
      [prodValues]: big,
    };
    const faults = await faultsOf(texts);
    expect(faults.some((reported) => reported.includes('values exceed 64 MiB'))).toBe(true);
  });

  it('reports values as unset without an environment, and explains how to set them', async () => {
    expect(await faultsOf(base('description: "${values.a}"'), null)).toEqual([
      'keys.yaml:6:16 the value values.a is not set | choose an environment with --env NAME, or set a default: ${values.a:-value}',
    ]);
    expect(await specOf(base('description: ${values.a:-none}'), null)).toMatchObject({
      description: 'none',
    });
  });
});

describe('a patch', () => {
  it('merges maps by key in either spelling, replaces lists, and clears with null', async () => {
    const texts = {
      ...base(`
description: base
expiresAt: "2030-01-01T00:00:00Z"
alertEmails: [a@example.com]
defaults: {metadata: {team: cx, tier: gold}}`),
      [prodPatch]: patch(`
expires_at: null
alert_emails: [b@example.com, c@example.com]
defaults: {metadata: {tier: null, region: eu}}`),
    };
    expect(await specOf(texts)).toEqual({
      scopes: ['logs.view'],
      description: 'base',
      alert_emails: ['b@example.com', 'c@example.com'],
      defaults: { metadata: { team: 'cx', region: 'eu' } },
    });
  });

  it('addresses entries of a list by name, and removes them', async () => {
    const config = `
config:
  strategy: {mode: loadbalance}
  targets:
    - {name: a, provider: "@a", weight: 1}
    - {name: b, provider: "@b", weight: 1}
    - {name: c, provider: "@c", weight: 1}`;
    const texts = {
      'c.yaml': manifest('Config', 'bot', config),
      [prodPatch]: patch(
        'config: {targets: {a: null, b: {weight: 9}, c: {weight: null, retry: {attempts: 2}}}}',
        'bot',
        'Config',
        '',
      ),
    };
    expect(await specOf(texts)).toEqual({
      config: {
        strategy: { mode: 'loadbalance' },
        targets: [
          { name: 'b', provider: '@b', weight: 9 },
          { name: 'c', provider: '@c', retry: { attempts: 2 } },
        ],
      },
    });
  });

  it('changes metadata and state, but not the identity of the resource', async () => {
    const texts = {
      ...base(''),
      'more.yaml': manifest('ApiKey', 'old', 'scopes: [logs.view]', inSupport),
      [prodPatch]: [
        patch('description: x', 'bot', 'ApiKey', `${inSupport}, protected: true`),
        'apiVersion: gatewright.dev/v1\nkind: ApiKey\npatch: true\nmetadata: {name: old, workspace: support}\nstate: absent\n',
      ].join('---\n'),
    };
    const { resources } = await setOf(texts);
    expect(
      resources.map(({ identity, protected: isProtected, absent }) => [
        identity.name,
        isProtected,
        absent,
      ]),
    ).toEqual([
      ['bot', true, false],
      ['old', false, true],
      ['support', false, false],
    ]);
  });

  it('replaces a secret completely, and an External', async () => {
    const texts = {
      'm.yaml': manifest(
        'McpIntegration',
        'bot',
        'url: https://a.example\nauthType: headers\ntransport: http\nconfigurations: {customHeaders: {Authorization: {valueFrom: {env: GW_VAR_A, prefix: "Bearer "}}}}',
      ),
      'e.yaml': manifest('External', 'shared', 'kind: Guardrail\nslug: dev'),
      [prodPatch]: [
        patch(
          'configurations: {custom_headers: {Authorization: {valueFrom: {file: crm}}}}',
          'bot',
          'McpIntegration',
          '',
        ),
        patch('slug: null\nname: Shared', 'shared', 'External', ''),
      ].join('---\n'),
    };
    const { externals } = await setOf(texts);
    expect(await specOf(texts)).toMatchObject({
      configurations: {
        custom_headers: { Authorization: { $secret: 'file:crm', fingerprint: '' } },
      },
    });
    expect(externals).toMatchObject([{ by: 'name', lookup: 'Shared' }]);
  });

  it.each<[string, Texts, string[]]>([
    [
      'for a missing manifest',
      { [prodPatch]: patch('description: x', 'bto') },
      [
        `${prodPatch}:4:18 ApiKey/support/bto is patched but not declared in this source | correct kind, name or workspace, or remove the patch`,
      ],
    ],
    [
      'that occurs twice',
      { [prodPatch]: patch('description: x'), 'environments/prod/z.yaml': patch('expiresAt: x') },
      [
        `environments/prod/z.yaml:4:18 ApiKey/support/bot is patched twice, first at ${prodPatch}:1:1 | make them one patch`,
      ],
    ],
    [
      'that removes a missing entry',
      { [prodPatch]: patch('description: null') },
      [
        `${prodPatch}:6:3 (patches keys.yaml:4:1) there is no description to remove | remove the line`,
      ],
    ],
    [
      'for an unknown field',
      { [prodPatch]: patch('rateLimit: []') },
      [
        `${prodPatch}:6:3 (patches keys.yaml:4:1) spec has no field "rateLimit" | did you mean "rateLimits"?`,
      ],
    ],
    [
      'with a value that does not fit',
      { [prodPatch]: patch('expiresAt: soon') },
      [expect.stringContaining(`${prodPatch}:6:14 (patches keys.yaml:4:1) spec.expiresAt`)],
    ],
    [
      'of a missing entry',
      { [prodPatch]: patch('scopes: {x: null}') },
      [`${prodPatch}:6:12 (patches keys.yaml:5:3) no entry is called "x" | write the whole list`],
    ],
    [
      'outside of an environment',
      { 'p.yaml': patch('description: x') },
      [
        'p.yaml:1:8 a patch must be in an environment | move it to environments/NAME/ of the source, which --env NAME chooses',
      ],
    ],
    [
      'without a name',
      { [prodPatch]: 'apiVersion: gatewright.dev/v1\nkind: ApiKey\npatch: true\nmetadata: {}\n' },
      [`${prodPatch}:4:11 metadata.name is required`],
    ],
    [
      'with an invalid mark',
      { [prodPatch]: patch('description: x').replace('true', '1') },
      [`${prodPatch}:1:8 patch must be true | write patch: true`],
    ],
    [
      'with an unset variable',
      { [prodPatch]: patch('description: ${values.x}') },
      [
        `${prodPatch}:6:16 the value values.x is not set | write x into ${prodValues}, or set a default: \${values.x:-value}`,
      ],
    ],
  ])('reports a patch %s as a fault with both positions', async (_, texts, reported) => {
    expect(await faultsOf({ [prodValues]: '', ...base(''), ...texts })).toEqual(reported);
  });

  it('waits for a manifest that cannot be read', async () => {
    const texts = { 'ws.yaml': support, 'keys.yaml': 'a: [', [prodPatch]: patch('description: x') };
    expect((await faultsOf(texts)).map((reported) => reported.split(' ')[0])).toEqual([
      'keys.yaml:1:4',
    ]);
  });

  it('reports the origin of each field', async () => {
    const texts = {
      ...base('description: a\nrateLimits: [{type: requests, unit: rpm, value: 5}]'),
      [prodPatch]: patch('description: ${values.d}\nrateLimits: {requests: {value: 7}}'),
      [prodValues]: 'd: x\n',
    };
    const { resources } = await setOf(texts);
    const bot = resources.find(({ identity }) => identity.name === 'bot')!;
    expect(placeText(bot.position)).toBe(`keys.yaml:1:1 (patched by ${prodPatch}:1:1)`);
    const placeOf = (pointer: string): string => placeText(bot.positionOf(pointer));
    expect(placeOf('/description')).toBe(
      `${prodPatch}:6:16 (value from ${prodValues}:1:4, patches keys.yaml:6:3)`,
    );
    expect(placeOf('/rate_limits/0/value')).toBe(`${prodPatch}:7:34 (patches keys.yaml:7:44)`);
    expect(placeOf('/rate_limits/0/unit')).toBe('keys.yaml:7:39');
  });
});

describe('a plan', () => {
  it('names the origin of each field that other files contribute to', async () => {
    const texts = (limit: number): Texts => ({
      ...base('description: ${values.d}\nexpiresAt: "2030-01-01T00:00:00Z"'),
      [prodPatch]: patch(`rateLimits: [{type: requests, unit: rpm, value: ${limit}}]`),
      [prodValues]: `d: x${limit}\n`,
    });
    const server = new ModelServer();
    server.apply(server.plan(await setOf(texts(1))));
    const plan = server.plan(await setOf(texts(2)));
    const reported = textReport({
      plan,
      report: null,
      refusal: null,
      warnings: [],
      declined: false,
    });
    expect(
      reported.replaceAll(/[\uFDD0-\uFDEF]/g, ''),
    ).toContain(`~ update ApiKey/support/bot  keys.yaml:1:1 (patched by ${prodPatch}:1:1)
    ~ spec.description: "x1" → "x2"  (keys.yaml:6:16 (value from ${prodValues}:1:4))
    ~ spec.rateLimits[0].value: 1 → 2  (${prodPatch}:6:51 (patches keys.yaml:4:1))  ! loosens
`);
    const { changes } = planDocument(plan, []) as { changes: { fields: unknown[] }[] };
    expect(changes[0]?.fields).toMatchObject([
      { path: '/description', position: { file: 'keys.yaml', line: 6, column: 16 } },
      {
        path: '/rate_limits/0/value',
        position: {
          file: prodPatch,
          line: 6,
          column: 51,
          related: [{ relation: 'patches', file: 'keys.yaml', line: 4, column: 1 }],
        },
      },
    ]);
  });
});

describe('defaults', () => {
  it('applies the nearest folder’s defaults to manifests of their kind, and nowhere else', async () => {
    const texts = {
      'ws.yaml': support,
      'defaults.yaml': defaults('description: outer\nexpiresAt: "2030-01-01T00:00:00Z"'),
      'a/defaults.yaml': defaults('description: inner\ndefaults: {metadata: {team: a, tier: 1}}'),
      'a/b/keys.yaml': manifest(
        'ApiKey',
        'x',
        'scopes: [logs.view]\ndefaults: {metadata: {tier: 2}}',
        inSupport,
      ),
      'c/keys.yaml': manifest('ApiKey', 'y', 'scopes: [logs.view]\nexpires_at: null', inSupport),
    };
    expect(await specOf(texts, null, 'x')).toEqual({
      scopes: ['logs.view'],
      description: 'inner',
      defaults: { metadata: { team: 'a', tier: 2 } },
    });
    expect(await specOf(texts, null, 'y')).toEqual({
      scopes: ['logs.view'],
      description: 'outer',
      expires_at: null,
    });
  });

  it('applies defaults before patches, and substitutes values in them', async () => {
    const texts = {
      ...base('alertEmails: [a@example.com]'),
      'defaults.yaml': defaults(
        'description: ${values.d}\nalertEmails: ["x@example.com"]\nexpiresAt: "2030-01-01T00:00:00Z"',
      ),
      [prodPatch]: patch('expiresAt: null'),
      [prodValues]: 'd: from prod\n',
    };
    expect(await specOf(texts)).toEqual({
      scopes: ['logs.view'],
      description: 'from prod',
      alert_emails: ['a@example.com'],
    });
  });

  it('reports unused defaults with their position in validate and in every plan, not as a fault', async () => {
    const note = 'environments/prod/defaults.yaml:4:3: the defaults for Config reach no manifest';
    const texts: Texts = {
      ...base(''),
      'defaults.yaml': defaults('description: outer'),
      'environments/prod/defaults.yaml': defaults('x: 1').replace('ApiKey', 'Config'),
      'environments/prod/values.yaml': 'd: x\n',
      'gone/defaults.yaml': defaults('description: of a tombstone'),
      'gone/keys.yaml': `${manifest('ApiKey', 'gone', '{}', inSupport)}state: absent\n`,
      'a/defaults.yaml': defaults('description: all of it is overridden'),
      'a/keys.yaml': manifest('ApiKey', 'a', 'scopes: [logs.view]\ndescription: own', inSupport),
    };
    const set = await setOf(texts);
    expect(set.warnings?.map(({ position }) => placeText(position))).toEqual([
      'environments/prod/defaults.yaml:4:3',
      'gone/defaults.yaml:4:3',
    ]);
    const { warnings } = new ModelServer().plan(set);
    expect(warnings).toContainEqual(expect.stringContaining(note));
    const reported = async (...words: string[]) =>
      await runWords(['validate', '--env', 'prod', ...words], root);
    expect(await reported()).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`warning: ${note}`),
    });
    expect(JSON.parse((await reported('-o', 'json')).stdout)).toMatchObject({
      valid: true,
      faults: [],
      warnings: [{ line: 4, code: 'unreached-defaults' }, { file: 'gone/defaults.yaml' }],
    });
    expect((await reported('-o', 'github')).stdout).toMatch(
      /^::warning file=environments\/prod\/defaults.yaml,line=4,col=3,title=unreached-defaults::/,
    );
  });

  it('reports no unused defaults while a file cannot be read', async () => {
    const texts = {
      ...base(''),
      'a/defaults.yaml': defaults('description: x'),
      'a/b.yaml': 'a: [',
    };
    const { set } = await readSource(await filesOf(texts, null), secrets);
    expect(set.warnings).toEqual([]);
  });

  it('reports faults of defaults together with the manifest they apply to', async () => {
    const texts = {
      ...base('alertEmails: [a@example.com]'),
      'defaults.yaml': defaults('description: 5\nalertEmails: 7'),
    };
    expect(await faultsOf(texts, null)).toEqual([
      'defaults.yaml:5:18 (default for keys.yaml:1:1) spec.description must be text, not a number | put it in quotes',
    ]);
    const { resources } = await setOf({ 'defaults.yaml': defaults('description: d') }, null);
    expect(resources.map(({ position }) => placeText(position))).toEqual([
      'keys.yaml:1:1 (defaults from defaults.yaml:1:1)',
      'ws.yaml:1:1',
    ]);
  });

  it.each([
    [
      'defaults.yaml',
      defaults('a: 1').replace('ApiKey', 'ApiKye'),
      'the kind "ApiKye" is not known | did you mean "ApiKey"?',
    ],
    ['defaults.yaml', defaults('a: 1').replace('v1', 'v2'), 'this apiVersion is not known'],
    [
      'defaults.yaml',
      `metadata: {name: x}\n${defaults('description: a')}`,
      'a manifest has no field "metadata"',
    ],
    [
      'defaults.yaml',
      'apiVersion: gatewright.dev/v1\nkind: Defaults\nspec: {ApiKey: []}\n',
      'the defaults for ApiKey must be a map',
    ],
    [
      'defaults.yaml',
      `${defaults('a: 1')}---\n${defaults('b: 1')}`,
      'this folder has defaults for ApiKey twice, first at defaults.yaml:4:3',
    ],
    [
      'other.yaml',
      defaults('a: 1'),
      'Defaults must be in a file of their own | move it to the file defaults.yaml',
    ],
  ])('rejects wrong defaults in %s', async (path, text, reported) => {
    const [fault] = (await faultsOf({ 'ws.yaml': support, [path]: text }, null)).filter(
      (one) => !one.includes('has no field "a"'),
    );
    expect(fault).toContain(reported);
  });

  it('applies the defaults of each location separately', async () => {
    const texts = {
      'a/defaults.yaml': defaults('description: of a'),
      'a/ws.yaml': support,
      'b/keys.yaml': key(''),
    };
    const { resources } = await setOf(texts, null, ['a', 'b']);
    expect(resources[0]?.spec.description).toBeUndefined();
    expect((await setOf({}, null, ['.'])).resources[0]?.spec.description).toBeUndefined();
  });
});

it('names sops-encrypted values next to a patch', async () => {
  const integration = (file: string): string =>
    manifest(
      'McpIntegration',
      'crm',
      `url: https://crm.example\nauthType: headers\ntransport: http\nconfigurations: {headers: {X-A: {valueFrom: {${file}}}}}`,
    );
  const texts = {
    'crm.yaml': integration('env: GW_VAR_DEV_TOKEN'),
    'environments/prod/crm.yaml': patch(
      'configurations: {headers: {X-A: {valueFrom: {sops: {file: secrets.sops.yaml, key: crm.token}}}}}',
      'crm',
      'McpIntegration',
      '',
    ),
    'environments/prod/secrets.sops.yaml': sopsFile('values.sops.yaml'),
  };
  const { set, faults } = await readDesired(await filesOf(texts, 'prod'), {
    ...secrets,
    requireSecrets: true,
    ageIdentities: testIdentity(''),
  });
  expect(faults).toBeUndefined();
  const values = (set?.resources ?? []).flatMap((resource) => [...resource.secrets.values()]);
  expect(values.map((secret) => secret.reveal())).toEqual([canary]);
});

it('merges an encrypted patch into its manifest and keeps its values secret', async () => {
  const sealed = 'ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]';
  const texts = {
    'crm.yaml': manifest(
      'McpIntegration',
      'crm',
      'url: https://crm.example\nauthType: headers\ntransport: http',
    ),
    'environments/prod/crm.yaml': `${patch(`configurations: {headers: {X-A: "${sealed}"}}`, 'crm', 'McpIntegration', '')}sops: {mac: "${sealed}", age: [{recipient: a, enc: b}]}\n`,
  };
  const reported = await faultsOf(texts);
  expect(reported.filter((one) => !one.startsWith('environments/prod/crm.yaml'))).toEqual([]);
  const read = await readSource(await filesOf(texts, 'prod'), { ...secrets, requireSecrets: true });
  expect(read.set.faults.length).toBeGreaterThan(0);
  expect(() => requireValidPart(read, null)).toThrow(Failure);
});

describe('merging', () => {
  const scalar = fc.constantFrom<unknown>(1, 'a', true, '', 0);
  const keys = fc.constantFrom('a', 'b', 'c_d', '__proto__', 'constructor');
  const tree = fc.letrec<{ node: unknown; map: Record<string, unknown> }>((tie) => ({
    map: fc
      .array(fc.tuple(keys, tie('node')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries)),
    node: fc.oneof({ depthSize: 'small' }, scalar, fc.array(scalar, { maxLength: 2 }), tie('map')),
  })).map;

  /** The patch that turns one tree into another; undefined where none exists. */
  function patchFrom(one: unknown, other: unknown): unknown {
    if (!isMap(one) || !isMap(other)) return other;
    const parts = [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((name) => {
      if (!Object.hasOwn(other, name)) return [[name, null] as const];
      if (!Object.hasOwn(one, name)) return [[name, other[name]] as const];
      if (isDeepStrictEqual(one[name], other[name])) return [];
      return [[name, patchFrom(one[name], other[name])] as const];
    });
    return Object.fromEntries(parts);
  }

  it('turns any tree into any other, and reports the origin of each part', () => {
    fc.assert(
      fc.property(tree, tree, (one, other) => {
        // A map over a list names its entries.
        const clash = (a: unknown, b: unknown): boolean =>
          isMap(a) && isMap(b)
            ? Object.keys(a).some((name) => Object.hasOwn(b, name) && clash(a[name], b[name]))
            : Array.isArray(a) && isMap(b);
        fc.pre(!clash(one, other));
        const upper = patchFrom(one, other);
        const { value, parts, misfits } = merge(one, upper, {
          at: ['x'],
          shape: null,
          isPatch: true,
        });
        expect([value, misfits]).toEqual([other, []]);
        for (const { layer, to, from } of parts) {
          const source = layer === 'upper' ? { x: upper } : { x: one };
          const [there, here] = [valueAt(source, from), valueAt({ x: value }, to)];
          if (!isMap(here)) expect(here).toEqual(there);
        }
      }),
      { seed: 8, numRuns: 300 },
    );
  });

  it('keeps everything in the manifest over the defaults, including null', () => {
    fc.assert(
      fc.property(tree, tree, (lower, upper) => {
        const { value } = merge(lower, upper, { at: [], shape: null, isPatch: false });
        const expected = (a: unknown, b: unknown): unknown => {
          if (!isMap(a) || !isMap(b)) return b;
          const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
          return Object.fromEntries(
            names.map((name) => [
              name,
              Object.hasOwn(b, name)
                ? Object.hasOwn(a, name)
                  ? expected(a[name], b[name])
                  : b[name]
                : a[name],
            ]),
          );
        };
        expect(value).toEqual(expected(lower, upper));
      }),
      { seed: 8, numRuns: 300 },
    );
  });
});

describe('an unreadable part of several manifests', () => {
  const sound = {
    'ws.yaml': support,
    'keys.yaml': key(''),
    'o.yaml': manifest('Config', 'c', 'config: {}'),
  };

  it.each<[string, Texts]>([
    ['values', { [prodValues]: 'a: [' }],
    ['a patch', { [prodPatch]: 'a: [' }],
    ['a patch for a missing manifest', { [prodPatch]: patch('description: x', 'other') }],
    ['defaults', { [prodValues]: '', 'defaults.yaml': 'a: [' }],
    [
      'wrong defaults',
      { [prodValues]: '', 'defaults.yaml': defaults('a: 1').replace('ApiKey', 'X') },
    ],
  ])('blocks everything, because the effect on the rest is unknown: %s', async (_, texts) => {
    const read = await readSource(await filesOf({ ...sound, ...texts }, 'prod'), secrets);
    expect(() => requireValidPart(read, null)).toThrow(Failure);
  });

  it('blocks its own workspace when one field of one manifest is wrong', async () => {
    const texts = { ...sound, [prodPatch]: patch('description: 5') };
    const read = await readSource(await filesOf(texts, 'prod'), secrets);
    expect(requireValidPart(read, null).faults?.map(({ workspaces }) => workspaces)).toEqual([
      ['support'],
    ]);
  });
});

it('separates shared and distinct parts of two environments in the example', async () => {
  const example = join(import.meta.dirname, '../../../../examples/2-environments');
  const specs = async (environment: string): Promise<Record<string, unknown>> => {
    const options = { cwd: example, cacheDirectory: root, environment };
    const { set, faults } = await readDesired(await readSources(['.'], options), secrets);
    expect(faults).toBeUndefined();
    return Object.fromEntries(
      (set?.resources ?? []).map(({ identity, spec }) => [identity.name, spec]),
    );
  };
  const providers = ['models', 'large', 'small', 'tiny'];
  const [dev, prod] = [await specs('dev'), await specs('prod')];
  expect(Object.keys(dev)).toEqual([
    'reporting',
    'support-bot',
    'routing',
    ...providers,
    'support',
  ]);
  expect(Object.keys(prod)).toEqual(['on-call', ...Object.keys(dev)]);
  const limit = (value: number): unknown => [{ type: 'requests', unit: 'rpm', value }];
  expect([dev, prod]).toMatchObject([
    {
      support: { description: 'Customer support (dev)', usage_limits: { credit_limit: 50 } },
      'support-bot': {
        rate_limits: limit(60),
        defaults: { metadata: { team: 'cx', environment: 'dev' } },
      },
      routing: { config: { targets: [{ name: 'main', provider: '@small' }, {}] } },
    },
    {
      support: { description: 'Customer support (prod)', usage_limits: { credit_limit: 5000 } },
      'support-bot': { rate_limits: limit(900) },
      reporting: { rate_limits: limit(60), defaults: { metadata: { environment: 'prod' } } },
      'on-call': { rate_limits: limit(30) },
      routing: {
        config: { targets: [{ name: 'main', provider: '@large', retry: { attempts: 3 } }, {}] },
      },
    },
  ]);
});
