/**
 * Checks that a rendered source is equivalent to the source, in one environment and without its
 * secrets.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renderedList, renderedYaml } from '../../../../src/sync/authoring/rendered.ts';
import { readDesired } from '../../../../src/sync/desired/desired.ts';
import { composedManifests } from '../../../../src/sync/manifest/composed.ts';
import { readSources } from '../../../../src/sync/source/source.ts';
import type { SourceFiles } from '../../../../src/sync/source/source-files.ts';
import { runWords } from '../../../support/server/command-line.ts';
import { inSupport, manifest, sourceOf, support } from '../../../support/sync/manifests.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatewright-render-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const variables: Readonly<Record<string, string>> = {
  GW_VAR_LIMIT: '700',
  GW_VAR_NAME: 'named',
  GW_VAR_CANARY: 'canary-5e1f',
};
const environment = (name: string): string | undefined => variables[name];
const secrets = { environment, readValue: async () => undefined, requireSecrets: false };

async function read(
  texts: Readonly<Record<string, string>>,
  chosen: string | null = 'prod',
): Promise<SourceFiles> {
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return await readSources(['.'], { cwd: root, cacheDirectory: root, environment: chosen });
}

async function meaningOf(files: SourceFiles): Promise<unknown> {
  const { set, faults } = await readDesired(files, secrets);
  expect(faults).toBeUndefined();
  const resources = (set?.resources ?? []).map(
    ({ position, positionOf, isComposed, secrets: values, ...resource }) => ({
      ...resource,
      secrets: [...values].map(([key, { origin }]) => [key, origin]),
    }),
  );
  const externals = (set?.externals ?? []).map(({ position, ...external }) => external);
  return { resources, externals };
}

const key = (name: string, spec: string, metadata = inSupport): string =>
  manifest('ApiKey', name, `scopes: [logs.view]\n${spec}`, metadata);
const config = (name: string, text: string): string =>
  manifest('Config', name, `config: {metadata: {a: ${JSON.stringify(text)}}}`);
const disabled = ', annotations: {gatewright.dev/substitute: disabled, other: x}';

const sources: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  [
    'variables and escapes',
    {
      'a.yaml': [
        key('a', 'rateLimits: [{type: requests, unit: rpm, value: "${GW_VAR_LIMIT}"}]'),
        key('"${GW_VAR_NAME}"', 'description: "$${GW_VAR_LIMIT} ${GW_VAR_NONE:-none} $$ $"'),
      ].join('---\n'),
    },
  ],
  [
    'values of every kind',
    {
      'a.yaml': [
        key('a', 'description: "x${values.dollar}{GW_VAR_CANARY} ${values.literal}${values.n}"'),
        key('b', 'description: ${values.literal}\nexpiresAt: ${values.never}'),
        key('c', 'rateLimits: ${values.limits}\ndefaults: {metadata: {a: "${values.text}"}}'),
        key('d', 'rateLimits: [{type: requests, unit: rpm, value: "${values.no:-5}"}]'),
        config('e', 'a ${values.n} ${values.no:-5}'),
      ].join('---\n'),
      'environments/prod/values.yaml':
        'dollar: $\nliteral: "$${GW_VAR_CANARY}"\nn: 7\nnever: null\ntext: "5"\nlimits: [{type: requests, unit: rpm, value: 9}]\n',
    },
  ],
  [
    'verbatim fields',
    {
      'a.raw.yaml': config('raw', '${GW_VAR_CANARY} $${x}'),
      'b.yaml': key('b', 'description: "${values.n} $${x}"', `${inSupport}${disabled}`),
      'environments/prod/p.yaml': `patch: true\n${manifest('Config', 'raw', 'config: {metadata: {b: "${values.n}"}}')}`,
      'environments/prod/values.yaml': 'n: 7\n',
    },
  ],
  [
    'defaults, patches, secrets, tombstones and externals',
    {
      'defaults.yaml':
        'apiVersion: gatewright.dev/v1\nkind: Defaults\nspec:\n  ApiKey: {description: "${GW_VAR_NAME}", expiresAt: "2030-01-01T00:00:00Z"}\n',
      'a.yaml': [
        key('a', 'description: own'),
        key(
          'b',
          'rateLimits: [{type: requests, unit: rpm, value: 1}, {type: tokens, unit: rpm, value: 2}]',
        ),
        key('gone', ''),
        manifest(
          'McpIntegration',
          'm',
          'url: https://a.example\nauthType: headers\ntransport: http\nconfigurations: {customHeaders: {Authorization: {valueFrom: {env: GW_VAR_CANARY, prefix: "Bearer "}}}}',
        ),
        manifest('External', 'g', 'kind: Guardrail\nslug: ${values.slug}'),
      ].join('---\n'),
      'environments/prod/p.yaml': [
        `patch: true\n${manifest('ApiKey', 'b', 'rateLimits: {requests: null, tokens: {value: "${GW_VAR_LIMIT}"}}\nexpiresAt: null', inSupport)}`,
        'apiVersion: gatewright.dev/v1\nkind: ApiKey\npatch: true\nmetadata: {name: gone, workspace: support}\nstate: absent\n',
      ].join('---\n'),
      'environments/prod/values.yaml': 'slug: pii-prod\n',
    },
  ],
];

describe.each(sources)('%s', (_, texts) => {
  it('renders to an equivalent source, and the result renders to itself', async () => {
    const hasEnvironment = Object.keys(texts).some((path) => path.startsWith('environments/'));
    const files = await read({ 'ws.yaml': support, ...texts }, hasEnvironment ? 'prod' : null);
    const manifests = await composedManifests(files, environment);
    const text = renderedYaml(manifests);
    const rendered = sourceOf({ 'all.yaml': text });
    expect(await meaningOf(rendered)).toEqual(await meaningOf(files));
    const list = JSON.stringify(renderedList('gatewright.dev/v1', manifests));
    expect(await meaningOf(sourceOf({ 'all.json': list }))).toEqual(await meaningOf(files));
    const withoutComments = (yaml: string): string => yaml.replaceAll(/ ?# \S*:\d+:\d+.*/g, '');
    const again = renderedYaml(await composedManifests(rendered, environment));
    expect(withoutComments(again)).toBe(withoutComments(text));
    expect(text).not.toContain(variables.GW_VAR_CANARY);
  });
});

it('renders one workspace with its contents, and nothing undeclared', async () => {
  const example = join(import.meta.dirname, '../../../../examples/2-environments');
  const render = async (...words: string[]) =>
    await runWords(['render', example, '--env', 'prod', '-o', 'json', ...words], example);
  const whole = JSON.parse((await render()).stdout).items;
  const { stdout } = await render('--workspace', 'support');
  const named = ({ kind, metadata }: { kind: string; metadata: Record<string, string> }) =>
    (kind === 'Workspace' ? metadata.name : metadata.workspace) === 'support';
  expect(JSON.parse(stdout).items).toEqual(whole.filter(named));
  expect(JSON.parse(stdout).items.length).toBeGreaterThan(0);
  expect(await render('--workspace', 'suport')).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('--workspace suport: no resource of that workspace'),
  });
});

it('prints each value with the positions that contribute to it', () => {
  const main = join(import.meta.dirname, '../../../../src/main.ts');
  const example = join(import.meta.dirname, '../../../../examples/2-environments');
  const text = execFileSync(process.execPath, [main, 'render', '--env', 'prod'], {
    cwd: example,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  expect(text).toContain(
    '# api-keys.yaml:1:1 (defaults from defaults.yaml:2:1, patched by environments/prod/patches.yaml:11:1)\n',
  );
  expect(text).toContain(
    '      value: 900 # environments/prod/patches.yaml:16:51 (patches defaults.yaml:6:46)\n',
  );
  expect(text).toContain(
    '    creditLimit: 5000 # workspaces.yaml:8:18 (value from environments/prod/values.yaml:2:9)\n',
  );
});
