/** Tests the substitution of `${VAR}` in manifests. */
import { describe, expect, it } from 'vitest';
import {
  type EnvironmentValues,
  substitute,
  toScalar,
} from '../../../../src/sync/overlay/substitute.ts';
import { SubstitutionBudget } from '../../../../src/sync/overlay/substitution-budget.ts';
import { valueAt } from '../../../../src/sync/resources/spec-paths.ts';
import {
  inSupport,
  manifest,
  placesOf,
  readTexts,
  resourcesOf,
  support,
} from '../../../support/sync/manifests.ts';

const environment = (name: string): string | undefined =>
  ({ NAME: 'value', EMPTY: '', LIMIT: '500', ON: 'true', TREE: '{a: 1}' })[name];

const tree: Record<string, unknown> = {
  limit: 500,
  on: false,
  nothing: null,
  empty: '',
  name: 'prod',
  deep: { list: ['a', { b: 1 }] },
};
const values: EnvironmentValues = {
  budget: new SubstitutionBudget(),
  look: (path) => valueAt(tree, path),
  positionOf: (path) => ({ file: path.join('.'), line: 1, column: 1 }),
  advice: (path) => `write ${path.join('.')} down`,
};

function put(text: string): unknown {
  return substitute({ text }, { environment, values });
}

describe('text', () => {
  it.each([
    ['${NAME}', 'value'],
    ['a-${NAME}-${NAME}', 'a-value-value'],
    ['${EMPTY}', ''],
    ['${EMPTY:-x}', 'x'],
    ['${MISSING:-}', ''],
    ['${MISSING:-a b: c}', 'a b: c'],
    ['${NAME:-x}', 'value'],
    ['${NAME:?needed}', 'value'],
    ['$${NAME}', '${NAME}'],
    ['$NAME costs $5', '$NAME costs $5'],
    ['${TREE}', '{a: 1}'],
  ])('turns %s into %j', (text, expected) => {
    expect(put(text)).toMatchObject({ value: { text: expected }, faults: [] });
  });

  it.each([
    ['${MISSING}', 'the environment variable MISSING is not set'],
    ['${MISSING:?ask the team}', 'the environment variable MISSING is not set: ask the team'],
    ['${EMPTY:?}', 'the environment variable EMPTY is empty'],
    ['${', 'this ${ does not start a variable'],
    ['${a.b}', 'this ${ does not start a variable'],
    ['${NAME', 'this ${ does not start a variable'],
  ])('reports %s as a fault', (text, message) => {
    expect(put(text)).toMatchObject({ faults: [{ segments: ['text'], message }] });
  });

  it('is replaced in values only, and never becomes structure', () => {
    const { value } = substitute({ '${NAME}': ['${TREE}', 1, null] }, { environment, values });
    expect(value).toEqual({ '${NAME}': ['{a: 1}', 1, null] });
  });
});

describe('types', () => {
  it.each([
    ['500', 500],
    ['-1.5', -1.5],
    ['1e3', 1000],
    ['true', true],
    ['no', 'no'],
    ['0x10', '0x10'],
    ['', ''],
  ])('reads %s as %j where another type is expected', (text, value) => {
    expect(toScalar(text)).toBe(value);
  });

  it('takes the type from the schema, so that a variable is a number in one place and text in another', async () => {
    const spec = 'description: ${LIMIT}\nusageLimits: {creditLimit: "${LIMIT}"}';
    const text = manifest('Workspace', 'support', spec);
    const [workspace] = resourcesOf(
      await readTexts({ 'a.yaml': text }, { environment: { LIMIT: '500' } }),
    );
    expect(workspace?.spec).toMatchObject({
      description: '500',
      usage_limits: { credit_limit: 500 },
    });
  });

  it('reports the wrong type when the value does not fit', async () => {
    const text = manifest('Workspace', 'support', 'usageLimits: {creditLimit: "${LIMIT}"}');
    const desired = await readTexts({ 'a.yaml': text }, { environment: { LIMIT: 'many' } });
    expect(placesOf(desired)).toEqual(['a.yaml:5:30 wrong-type']);
  });
});

describe('disabled substitution', () => {
  const config = 'config: {name: "${MISSING}"}';

  it.each([
    ['by the name of the file', 'a.raw.yaml', ''],
    ['by an annotation', 'a.yaml', ', annotations: {gatewright.dev/substitute: disabled}'],
  ])('is requested %s', async (_, file, metadata) => {
    const texts = {
      [file]: manifest('Config', 'c', config, inSupport + metadata),
      's.yaml': support,
    };
    const [found] = resourcesOf(await readTexts(texts));
    expect(found?.spec.config).toEqual({ name: '${MISSING}' });
  });

  it('reports an unset variable otherwise', async () => {
    const texts = { 'a.yaml': manifest('Config', 'c', config, inSupport), 's.yaml': support };
    expect(placesOf(await readTexts(texts))).toEqual(['a.yaml:5:18 variable-unset']);
  });
});
