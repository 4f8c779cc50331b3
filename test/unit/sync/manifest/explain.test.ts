/** Checks that every field of every kind is explained, and that each example validates. */
import { dump } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { type KindName, kindNames, kinds } from '../../../../src/model/kinds/kinds.ts';
import { type Explanation, explain } from '../../../../src/sync/authoring/explain.ts';
import type { JsonSchema } from '../../../../src/sync/authoring/json-schema.ts';
import { kindSchema } from '../../../../src/sync/authoring/manifest-schema.ts';
import { newManifest } from '../../../../src/sync/authoring/new-manifest.ts';
import { readTexts } from '../../../support/sync/manifests.ts';

/** Faults that are due to other resources, not to the example itself. */
const beside = /^dangling-reference: |^secret-missing: |needs secretOutput|excludes periodic_reset/;

/** A routing document nests routing documents, so the recursion needs a bound. */
const depthMax = 6;

/** Building a schema takes longer than explaining all its fields. */
const schemas = new Map<KindName, JsonSchema>();

beforeAll(async () => {
  for (const kind of kindNames) schemas.set(kind, await kindSchema(kind));
});

function explained(kind: KindName, path: readonly string[]): Explanation {
  return explain(kind, schemas.get(kind)!, path);
}

function all(kind: KindName, path: readonly string[] = []): Explanation[] {
  const one = explained(kind, path);
  const below = path.length >= depthMax ? [] : one.fields;
  const start = path.length === 0 ? ['spec'] : path;
  return [one, ...below.flatMap(({ name }) => all(kind, [...start, name]))];
}

it('has one form of budget in all kinds', () => {
  const fields = kindNames.flatMap((kind) => all(kind));
  const budgets = fields.filter(({ field }) => field.endsWith('.usageLimits'));
  expect(budgets.map(({ field }) => field)).toEqual([
    'Workspace.spec.usageLimits',
    'Integration.spec.globalWorkspaceAccess.usageLimits',
    'Integration.spec.workspaces.usageLimits',
    'Provider.spec.usageLimits',
    'ApiKey.spec.usageLimits',
  ]);
  expect(new Set(budgets.map(({ type }) => type))).toEqual(new Set(['map']));
});

it('marks alternatives, of which exactly one is required', () => {
  const { fields } = explained('UsageLimitPolicy', ['conditions']);
  const given = fields.map(({ name, required, alternatives }) => [name, required, alternatives]);
  const subjects = ['apiKeyRef', 'workspaceRef', 'value'];
  expect(given).toEqual([
    ['key', true, []],
    ...subjects.map((name) => [name, false, subjects]),
    ['excludes', false, []],
  ]);
  const places = explained('ApiKey', ['secretOutput']).fields;
  expect(places.map(({ alternatives }) => alternatives.join())).toEqual(
    places.map(() => 'file,kubernetesSecret,vault'),
  );
  const { required, alternatives } = explained('UsageLimitPolicy', ['conditions', 'value']);
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
  ])('is marked at any level: %s, %s', (kind, field) => {
    const keys = field.split('.');
    expect(explained(kind, keys).secret).toBe(true);
    const { secret, fields } = explained(kind, keys.slice(0, -1));
    expect(secret).toBe(false);
    expect(fields.find(({ name }) => name === keys.at(-1))?.secret ?? true).toBe(true);
  });

  it.each<[KindName, string]>([
    ['Config', 'config.targets.custom_host'],
    ['Config', 'config.targets.name'],
    ['Guardrail', 'checks.name'],
    ['ApiKey', 'defaults.metadata'],
  ])('is not marked by another name: %s, %s', (kind, field) => {
    expect(explained(kind, field.split('.')).secret).toBe(false);
  });
});

describe.each(kindNames)('%s', (kind) => {
  it('explains each of its fields, with a type and an example', () => {
    const reported = all(kind);
    expect(reported.length).toBeGreaterThan(2);
    const silent = reported.filter(({ meaning, type, example, field }) => {
      const hasExample = field === kind || example !== undefined;
      return meaning === '' || type === '' || type === 'anything' || !hasExample;
    });
    expect(silent.map(({ field, type }) => `${field}: ${type}`)).toEqual([]);
  });

  it('validates the first manifest of the kind with each example in it', async () => {
    const faulty: string[] = [];
    for (const { field, example } of all(kind)) {
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

it.each(['__proto__', 'constructor', 'toString', ''])('has no field "%s"', (word) => {
  expect(() => explained('ApiKey', [word])).toThrow('ApiKey.spec has no field');
  expect(() => explained('ApiKey', ['spec', 'usageLimits', word])).toThrow('has no field');
});
