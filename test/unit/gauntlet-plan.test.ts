/** Tests the plan of a gauntlet: what a seed decides, and what it never does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { everyFault } from '../gauntlet/faults/every-fault.ts';
import { planFaults } from '../gauntlet/plan/fault-plan.ts';

const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe('planFaults', () => {
  it('returns the same plan for the same seed, and another one for another seed', () => {
    expect(planFaults(7, 10, everyFault)).toEqual(planFaults(7, 10, everyFault));
    expect(planFaults(7, 10, everyFault)).not.toEqual(planFaults(8, 10, everyFault));
  });

  it('plans at least 100 injections of every kind in ten minutes, within the bounds of each kind', () => {
    const kinds = new Map(everyFault.map((kind) => [kind.name, kind]));
    expect(kinds.size).toBe(everyFault.length);
    fc.assert(
      fc.property(seeds, (seed) => {
        const { faults } = planFaults(seed, 10, everyFault);
        expect(faults.length).toBeGreaterThanOrEqual(100);
        expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(kinds.keys()));
        for (const { kind, target, durationMs } of faults) {
          const [least, most] = kinds.get(kind)!.durationMs;
          expect(durationMs).toBeGreaterThanOrEqual(least);
          expect(durationMs).toBeLessThanOrEqual(most);
          expect(target).toBeLessThan(1);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('repeats no kind before every other one has occurred, and leaves time to recover at the end', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { faults } = planFaults(seed, 1, everyFault);
        const first = faults.slice(0, everyFault.length);
        expect(new Set(first.map(({ kind }) => kind)).size).toBe(first.length);
        expect(faults.at(-1)!.atMs).toBeLessThan(60_000 - 8_000);
      }),
      { numRuns: 20 },
    );
  });
});
