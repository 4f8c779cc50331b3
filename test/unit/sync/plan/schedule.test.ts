/**
 * Tests the schedule of a plan: nothing before its dependencies, everything once, in few batches.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Schedule } from '../../../../src/sync/apply/schedule.ts';
import type { PlannedChange } from '../../../../src/sync/plan/plan-model.ts';

type Facts = Pick<PlannedChange, 'action' | 'dependsOn' | 'last'> & { readonly kind: string };

function changesOf(facts: readonly Facts[]): PlannedChange[] {
  return facts.map(({ kind, ...rest }, at) => ({
    ...rest,
    identity: { kind, workspace: null, name: `${at}` },
    id: `${at}`,
  })) as PlannedChange[];
}

const create = (dependsOn: readonly string[]): Facts => ({
  kind: 'Config',
  action: 'create',
  last: false,
  dependsOn,
});

/** Executes everything with so many batches in flight; `choose` names the one that ends next. */
function carryOut(
  changes: readonly PlannedChange[],
  size: number,
  underWayMax: number,
  choose: (count: number) => number,
): readonly (readonly PlannedChange[])[] {
  const schedule = new Schedule(changes);
  const underWay: (readonly PlannedChange[])[] = [];
  const sets: (readonly PlannedChange[])[] = [];
  const over = new Set<string>();
  for (;;) {
    while (underWay.length < underWayMax) {
      const set = schedule.take(size, underWay.length === 0);
      if (set.length === 0) break;
      const seen = new Set(over);
      for (const { id, dependsOn } of set) {
        expect(dependsOn.filter((needed) => !seen.has(needed))).toEqual([]);
        seen.add(id);
      }
      underWay.push(set);
      sets.push(set);
    }
    const [ended] = underWay.splice(choose(underWay.length), 1);
    if (ended === undefined) return sets;
    for (const change of ended) {
      over.add(change.id);
      schedule.end(change);
    }
  }
}

describe('a schedule', () => {
  it('starts everything once, after its dependencies, and removals last', () => {
    const fact = (count: number) =>
      fc.record({
        kind: fc.constantFrom('Config', 'ApiKey'),
        action: fc.constantFrom('create', 'update', 'replace', 'rotate', 'delete'),
        last: fc.boolean(),
        dependsOn: fc.uniqueArray(fc.nat({ max: Math.max(0, count - 1) }).map(String), {
          maxLength: 4,
        }),
      });
    const plan = fc.array(fc.nat(), { maxLength: 40 }).chain((seeds) =>
      fc.tuple(...seeds.map((_, at) => fact(at))).map((facts) =>
        facts.map((one, at) => {
          const dependsOn = at === 0 ? [] : one.dependsOn;
          // Only the last entries wait for others.
          return {
            ...one,
            dependsOn: one.last ? dependsOn : dependsOn.filter((id) => !facts[Number(id)]!.last),
          };
        }),
      ),
    );
    fc.assert(
      fc.property(
        plan,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat({ max: 3 })),
        (facts, size, underWayMax, stream) => {
          const changes = changesOf(facts as Facts[]);
          const choose = (count: number) => Math.min(stream.next().value!, Math.max(0, count - 1));
          const sets = carryOut(changes, size, underWayMax, choose);
          const started = sets.flat();
          expect(new Set(started)).toEqual(new Set(changes));
          expect(started).toHaveLength(changes.length);
          expect(sets.every((set) => set.length <= size)).toBe(true);
          const firstLast = sets.findIndex((set) => set.some(({ last }) => last));
          const others = sets.findLastIndex((set) => set.some(({ last }) => !last));
          expect(firstLast === -1 || others < firstLast).toBe(true);
          const alone = sets.filter((set) => set.some(({ action }) => action === 'rotate'));
          expect(alone.every((set) => set.length === 1)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('forms few batches of a large plan, however many are in flight', () => {
    const workspaces = Array.from({ length: 50 }, () => create([]));
    const configs = Array.from({ length: 2950 }, (_, at) => create([String(at % 50)]));
    const keys = Array.from({ length: 7000 }, (_, at) =>
      create([String(at % 50), String(50 + (at % 2950))]),
    );
    const changes = changesOf([...workspaces, ...configs, ...keys]);
    for (const underWayMax of [1, 8]) {
      expect(carryOut(changes, 500, underWayMax, () => 0).length).toBeLessThanOrEqual(22);
    }
  });
});
