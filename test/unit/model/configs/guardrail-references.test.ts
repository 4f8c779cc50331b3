/** Tests which guardrails a config names, and which entries judge nothing. */
import { describe, expect, it } from 'vitest';
import { configFaults } from '../../../../src/model/configs/config-document.ts';
import { Level } from '../../../../src/model/configs/config-level.ts';
import { checkFields } from '../../../../src/model/configs/config-secret-fields.ts';
import {
  guardrailReferences,
  isEmptyGuardrail,
  namedGuardrail,
} from '../../../../src/model/configs/guardrail-references.ts';

const noLimits = { rootMax: null, conditionalRootMax: null, nestedMax: null };
const contains = { 'default.contains': { words: ['x'] } };
const checks = [{ id: 'default.contains', parameters: { words: ['x'] } }];

function faultsOf(document: Record<string, unknown>): string[] {
  const faults = configFaults(document, noLimits, []);
  return faults.map(({ path, message }) => `${path.join('.')} ${message}`);
}

describe('guardrailReferences', () => {
  it('finds names in every list of a level, at every depth', () => {
    const lists = (name: string) =>
      Object.fromEntries(
        checkFields.map((field) => [field, [contains, { id: `${name}-${field}` }]]),
      );
    const document = { ...lists('a'), targets: [{ x: 1 }, { targets: [lists('b')] }] };
    const expected = (at: string, name: string) =>
      checkFields.map((field) => [`${at}${field}.1.id`, `${name}-${field}`]);
    expect(
      guardrailReferences(document).map(({ path, guardrail }) => [path.join('.'), guardrail]),
    ).toEqual([...expected('', 'a'), ...expected('targets.1.targets.0.', 'b')]);
  });

  it('covers every member of a level that lists guardrails or hooks', () => {
    const listing = Object.keys(Level.shape).filter((name) => /guardrails|hooks/.test(name));
    expect(listing.toSorted()).toEqual([...checkFields].toSorted());
  });

  it('finds names that are written as text', () => {
    const document = { input_guardrails: ['a', contains], targets: [{ output_guardrails: ['b'] }] };
    expect(guardrailReferences(document)).toEqual([
      { path: ['input_guardrails', 0], guardrail: 'a' },
      { path: ['targets', 0, 'output_guardrails', 0], guardrail: 'b' },
    ]);
  });
});

describe('an entry of a list of guardrails', () => {
  it.each([
    ['pg-a', 'pg-a', false],
    [{ id: 'pg-a' }, 'pg-a', false],
    [{ id: 'pg-a', checks: [] }, 'pg-a', false],
    [{ id: 'label', checks }, null, false],
    [{ id: 'label', ...contains }, null, false],
    [{ deny: true }, null, true],
    [{}, null, true],
    [{ id: 5 }, null, true],
  ])('%j names %j; it is empty: %j', (entry, name, isEmpty) => {
    expect(namedGuardrail(entry)).toBe(name);
    expect(isEmptyGuardrail(entry)).toBe(isEmpty);
  });

  it.each(checkFields)('is a fault in %s when it judges nothing', (field) => {
    const hasNoChecks = 'has no checks; add some, or set id to the slug of a guardrail';
    expect(faultsOf({ [field]: [{ deny: true }] })).toEqual([`${field}.0 ${hasNoChecks}`]);
    expect(faultsOf({ targets: [{ [field]: [{}] }] })).toEqual([
      `targets.0.${field}.0 ${hasNoChecks}`,
    ]);
  });

  it.each(checkFields)(
    'is a fault in %s when its actions are those of a stored guardrail',
    (field) => {
      expect(faultsOf({ [field]: [{ id: 'pg-a', name: 'n', deny: true }] })).toEqual([
        `${field}.0.deny has no effect, because the guardrail that id names has actions of its own`,
      ]);
      expect(faultsOf({ [field]: [{ id: 'pg-a', name: 'n' }] })).toEqual([]);
    },
  );
});
