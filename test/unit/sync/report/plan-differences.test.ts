/**
 * Checks that a plan shows every difference between any two specs of any kind, as text, Markdown
 * and JSON.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hasDefaultSlug } from '../../../../src/model/kinds/default-slugs.ts';
import { type KindName, kindNames } from '../../../../src/model/kinds/kinds.ts';
import { loadSpecSchema } from '../../../../src/model/kinds/spec-schemas.ts';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import { planDocument } from '../../../../src/sync/report/document.ts';
import { type FieldLine, fieldLines } from '../../../../src/sync/report/field-lines.ts';
import { markdownReport } from '../../../../src/sync/report/markdown.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import type { Spec, SpecJson } from '../../../../src/sync/resources/resource-set.ts';
import { forTerminal } from '../../../../src/terminal-text.ts';
import { meaning, patched } from '../../../support/sync/applied-fields.ts';
import { planOf } from '../../../support/sync/plan-of.ts';

const runs = { numRuns: 150 };
const fieldNames = new Map(
  await Promise.all(
    kindNames.map(async (kind) => {
      const shape = Object.keys((await loadSpecSchema(kind)).shape);
      return [kind, shape.filter((field) => field !== 'workspace_id')] as const;
    }),
  ),
);

function linesOf(plan: Plan): FieldLine[] {
  return plan.changes.flatMap(fieldLines);
}

function textOf(plan: Plan): string {
  const reported = { plan, report: null, declined: false, refusal: null, warnings: [] };
  return forTerminal(textReport(reported), { color: false });
}

function markdownOf(plan: Plan): string {
  return markdownReport({ plan, report: null, declined: false, refusal: null, warnings: [] });
}

const longText = fc
  .tuple(fc.constantFrom('x', '한', '\u0301e', '"\\'), fc.nat({ max: 400 }), fc.string())
  .map(([unit, count, tail]) => unit.repeat(count) + tail);
const scalar = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  longText,
  fc.constantFrom(
    'a',
    'b',
    'two\nlines',
    '```',
    '\u001b[2J',
    '\u202e',
    '\ufdd1',
    'a\u200b',
    '',
    'e\u0301',
  ),
  fc.integer({ min: -5, max: 5 }),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.oneof(
  fc.constantFrom('id', 'name', 'provider', 'weight', 'targets', 'a.b', '0', '`', 'key'),
  fc.string({ minLength: 1, maxLength: 4 }).filter((text) => text !== '__proto__'),
);
const { value: anyValue } = fc.letrec<{ value: SpecJson }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }).map((object) => ({ ...object })),
  ),
})) as { value: fc.Arbitrary<SpecJson> };

/** Edits that turn a value into another, mostly a similar one. */
const edit = fc.record({ how: fc.nat({ max: 7 }), at: fc.nat({ max: 9 }), value: anyValue });

function edited(
  value: SpecJson,
  edits: readonly { how: number; at: number; value: SpecJson }[],
): SpecJson {
  return edits.reduce(
    (now: SpecJson, { how, at, value: given }) => oneEdit(now, how, at, given),
    value,
  );
}

function oneEdit(value: SpecJson, how: number, at: number, given: SpecJson): SpecJson {
  if (typeof value === 'string') return how < 6 ? `${value}${at}` : given;
  if (Array.isArray(value)) {
    const index = at % (value.length + 1);
    if (how === 0) return value.toSpliced(index, 0, given);
    if (how === 1) return value.toSpliced(index, 1);
    if (how === 2) return value.toReversed();
    return value.map((item, place) => (place === index ? oneEdit(item, how - 1, at, given) : item));
  }
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value);
    const name = names[at % Math.max(1, names.length)];
    if (how === 0 || name === undefined) return { ...value, [`k${at}`]: given };
    if (how === 1) return Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
    return { ...value, [name]: oneEdit(value[name]!, how - 1, at, given) };
  }
  return given;
}

function specs(kind: KindName): fc.Arbitrary<{ live: Spec; desired: Spec }> {
  const names = fieldNames.get(kind)!;
  return fc
    .tuple(
      fc.dictionary(fc.constantFrom(...names), anyValue, { maxKeys: 4 }),
      fc.array(fc.tuple(fc.constantFrom(...names), edit), { maxLength: 4 }),
    )
    .map(([live, edits]) => {
      const desired: Spec = structuredClone({ ...live });
      for (const [field, { how, at, value }] of edits) {
        if (how === 7) delete desired[field];
        else desired[field] = edited(desired[field] ?? value, [{ how, at, value }]);
      }
      // A slug that leaves the manifest stays on the server.
      const stays = hasDefaultSlug(kind) && desired.slug === undefined && live.slug !== undefined;
      if (stays) desired.slug = live.slug!;
      return { live: structuredClone({ ...live }), desired };
    });
}

/** Single values of a spec as text; empty ones are left out. */
function valuesIn(value: SpecJson | undefined): string[] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value !== 'object') return [JSON.stringify(value)];
  return Object.values(value).flatMap((item) => valuesIn(item as SpecJson));
}

function countOf(list: readonly string[], member: string): number {
  return list.filter((one) => one === member).length;
}

/**
 * Lists in which an entry has moved, so that its inner fields have a position in the live list
 * alone.
 */
const shiftedLists: Partial<Record<KindName, [{ live: Spec; desired: Spec }][]>> = {
  Workspace: [
    [
      {
        live: { name: ['a', 0, '', '', [false, null]] },
        desired: { name: [null, 'a', 0, '', '', [null, false]] },
      },
    ],
  ],
  Config: [
    [
      {
        live: { config: [null, { k: { gone: '', id: '' } }, false, null] },
        desired: { config: [[], null, { k: { id: '' } }, false, null] },
      },
    ],
  ],
};

interface GeneratedPlan {
  readonly kind: KindName;
  readonly live: Spec;
  readonly desired: Spec;
  readonly plan: Plan;
}

/**
 * The laws of every plan; all are checked on the same plans, because creating those takes most of
 * the time.
 */
const laws: Readonly<Record<string, (planned: GeneratedPlan) => void>> = {
  'there is a plan exactly if they differ in meaning': ({ kind, live, desired, plan }) => {
    const differs = JSON.stringify(meaning(kind, live)) !== JSON.stringify(meaning(kind, desired));
    expect(linesOf(plan).some(({ isRecord }) => !isRecord)).toBe(differs);
    expect(planOf(kind, desired, desired).changes).toEqual([]);
  },

  'the text has a line for each value that one holds more often than the other': (planned) => {
    const isShort = (text: string): boolean => /^[\x20-\x7e]{1,150}$/.test(text);
    const [before, after] = [valuesIn(planned.live), valuesIn(planned.desired)];
    const displayed = textOf(planned.plan).split('\n');
    for (const value of new Set([...before, ...after].filter(isShort))) {
      if (value.includes('\\n')) continue;
      const more = countOf(after, value) - countOf(before, value);
      const sign = more > 0 ? '[+~]' : '[-~]';
      const safe = value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
      const form = more > 0 ? `(: |→ )${safe}(  |$)` : `: ${safe}( →|  |$)`;
      const line = new RegExp(`^    ${sign} .*${form}`);
      const found = displayed.filter((text) => line.test(text)).length;
      expect(found, `${value}\n${displayed.join('\n')}`).toBeGreaterThanOrEqual(Math.abs(more));
    }
  },

  'no line shows the same on both sides, and no line is shown twice': ({ plan }) => {
    const lines = linesOf(plan);
    for (const { from, to, isRecord } of lines) {
      if (!isRecord) expect(from).not.toBe(to);
    }
    const gone = lines.filter(({ to }) => to === null).map(({ path }) => path);
    const come = lines.filter(({ from }) => from === null).map(({ path }) => path);
    expect(new Set(gone).size).toBe(gone.length);
    expect(new Set(come).size).toBe(come.length);
  },

  'the JSON document is enough to make the wanted spec of the live one': (planned) => {
    const { kind, live, desired, plan } = planned;
    const { changes } = JSON.parse(JSON.stringify(planDocument(plan, [])));
    const fields = changes[0]?.fields ?? [];
    const made = (patched(live, fields, [], []) ?? {}) as Spec;
    expect(meaning(kind, made)).toEqual(meaning(kind, desired));
  },

  'text and Markdown hold nothing that a terminal obeys or that ends a block': ({ plan }) => {
    expect(textOf(plan)).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\ufdd0-\ufdef]/,
    );
    const markdown = markdownOf(plan);
    expect(Buffer.byteLength(markdown)).toBeLessThan(60_000);
    const fences = markdown.split('\n').filter((line) => /^ {0,3}(`{3,}|~{3,})/.test(line));
    expect(fences.length).toBe(plan.changes.length === 0 ? 0 : 2);
  },
};

it.each(kindNames)('satisfies these laws for any two specs of a %s', (kind) => {
  fc.assert(
    fc.property(specs(kind), ({ live, desired }) => {
      const plan = planOf(kind, live, desired);
      for (const [law, holds] of Object.entries(laws)) {
        try {
          holds({ kind, live, desired, plan });
        } catch (error) {
          throw new Error(`not so: ${law}`, { cause: error });
        }
      }
    }),
    { ...runs, includeErrorInReport: true, examples: [...(shiftedLists[kind] ?? [])] },
  );
});

it('reports a value once when a replacement covers it', () => {
  const plan = planOf('Workspace', { defaults: { id: 'x', size: 2 } }, { scope_name: 'a0' });
  const gone = linesOf(plan).filter(({ to }) => to === null);
  expect(gone.map(({ path }) => path)).toEqual(['spec.defaults.id', 'spec.defaults.size']);
});
