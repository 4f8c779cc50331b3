/** Checks that every field of every kind is explained, and that each example validates. */
import { dump } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { type KindName, kindNames, kinds } from '../../../../src/model/kinds/kinds.ts';
import { type Explanation, explain } from '../../../../src/sync/authoring/explain.ts';
import { newManifest } from '../../../../src/sync/authoring/new-manifest.ts';
import { readTexts } from '../../../support/sync/manifests.ts';

/** Faults that are due to other resources, not to the example itself. */
const beside = /^dangling-reference: |^secret-missing: |needs secretOutput|excludes periodic_reset/;

/** A routing document nests routing documents, so the recursion needs a bound. */
const depthMax = 6;

async function all(kind: KindName, path: readonly string[] = []): Promise<Explanation[]> {
  const one = await explain(kind, path);
  const below = path.length >= depthMax ? [] : one.fields;
  const start = path.length === 0 ? ['spec'] : path;
  const inside: Explanation[] = [];
  for (const { name } of below) inside.push(...(await all(kind, [...start, name])));
  return [one, ...inside];
}

it('has one form of budget in all kinds', async () => {
  const explained = (await Promise.all(kindNames.map((kind) => all(kind)))).flat();
  const budgets = explained.filter(({ field }) => field.endsWith('.usageLimits'));
  expect(budgets.map(({ field }) => field)).toEqual([
    'Workspace.spec.usageLimits',
    'Integration.spec.globalWorkspaceAccess.usageLimits',
    'Integration.spec.workspaces.usageLimits',
    'Provider.spec.usageLimits',
    'ApiKey.spec.usageLimits',
  ]);
  expect(new Set(budgets.map(({ type }) => type))).toEqual(new Set(['map']));
});

it('marks alternatives, of which exactly one is required', async () => {
  const { fields } = await explain('UsageLimitPolicy', ['conditions']);
  const given = fields.map(({ name, required, alternatives }) => [name, required, alternatives]);
  const subjects = ['apiKeyRef', 'workspaceRef', 'value'];
  expect(given).toEqual([
    ['key', true, []],
    ...subjects.map((name) => [name, false, subjects]),
    ['excludes', false, []],
  ]);
  const places = (await explain('ApiKey', ['secretOutput'])).fields;
  expect(places.map(({ alternatives }) => alternatives.join())).toEqual(
    places.map(() => 'file,kubernetesSecret,vault'),
  );
  const { required, alternatives } = await explain('UsageLimitPolicy', ['conditions', 'value']);
  expect([required, alternatives]).toEqual([false, subjects]);
});

describe('a secret field', () => {
  it.each<[KindName, string]>([
    ['Config', 'config.api_key'],
    ['Config', 'config.targets.api_key'],
    ['Config', 'config.targets.targets.targets.aws_secret_access_key'],
    ['Config', 'config.targets.override_params.tools.headers.x'],
    ['Config', 'config.override_params.client_secret'],
    ['Config', 'config.before_request_hooks.checks.parameters.headers.x'],
    ['Guardrail', 'checks.parameters.headers.x'],
    ['Integration', 'models.configurations.custom_headers.x'],
    ['Integration', 'configurations.aws_secret_access_key'],
  ])('is marked at any level: %s, %s', async (kind, field) => {
    const keys = field.split('.');
    expect((await explain(kind, keys)).secret).toBe(true);
    const { secret, fields } = await explain(kind, keys.slice(0, -1));
    expect(secret).toBe(false);
    expect(fields.find(({ name }) => name === keys.at(-1))?.secret ?? true).toBe(true);
  });

  it.each<[KindName, string]>([
    ['Config', 'config.targets.custom_host'],
    ['Config', 'config.targets.name'],
    ['Guardrail', 'checks.name'],
    ['ApiKey', 'defaults.metadata'],
  ])('is not marked by another name: %s, %s', async (kind, field) => {
    expect((await explain(kind, field.split('.'))).secret).toBe(false);
  });
});

describe.each(kindNames)('%s', (kind) => {
  it('explains each of its fields, with a type and an example', async () => {
    const reported = await all(kind);
    expect(reported.length).toBeGreaterThan(2);
    const silent = reported.filter(({ meaning, type, example, field }) => {
      const hasExample = field === kind || example !== undefined;
      return meaning === '' || type === '' || type === 'anything' || !hasExample;
    });
    expect(silent.map(({ field, type }) => `${field}: ${type}`)).toEqual([]);
  });

  it('validates the first manifest of the kind with each example in it', async () => {
    const faulty: string[] = [];
    for (const { field, example } of await all(kind)) {
      const path = field.split('.').slice(2);
      if (path.length !== 1) continue;
      const name = kinds[kind].isSingleton === true ? undefined : 'x';
      const first = newManifest(kind, { name, workspace: undefined, alone: false });
      const documents = first.split('---\n');
      const own = `${documents.at(-1)}`;
      const changed = dump({ [path[0]!]: example }).replaceAll(/^(?=.)/gm, '  ');
      // A field that is already present needs no example.
      if (own.includes(`\n  ${path[0]}:`)) continue;
      const text = own.includes('\nspec: {}') ? own.replace('spec: {}', 'spec:') : own;
      const { faults = [] } = await readTexts({
        'a.yaml': [...documents.slice(0, -1), text + changed].join('---\n'),
      });
      const real = faults.filter(({ code, message }) => !beside.test(`${code}: ${message}`));
      faulty.push(...real.map(({ message }) => `${field}: ${message}`));
    }
    expect(faulty).toEqual([]);
  });
});

it.each(['__proto__', 'constructor', 'toString', ''])('has no field "%s"', async (word) => {
  await expect(explain('ApiKey', [word])).rejects.toThrow('ApiKey.spec has no field');
  await expect(explain('ApiKey', ['spec', 'usageLimits', word])).rejects.toThrow('has no field');
});
