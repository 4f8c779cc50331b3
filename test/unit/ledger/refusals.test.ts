/** Verifies which refused requests a limit remembers. */
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../../src/ledger/limit.ts';
import { Refusals } from '../../../src/ledger/refusals.ts';

const limit = { isHard: true, isRate: false, limitUnits: 100 } as Limit;

describe('Refusals', () => {
  it('keeps the smallest refused request until it is stored', () => {
    const refusals = new Refusals();
    refusals.note(limit, 50);
    refusals.note(limit, 60);
    refusals.note(limit, 40);
    expect([refusals.isPending, refusals.hasNew]).toEqual([true, true]);
    expect(refusals.beginMove(limit)).toBe(40);
    expect([refusals.isPending, refusals.hasNew]).toEqual([true, false]);
    refusals.note(limit, 40);
    expect(refusals.hasNew).toBe(false);
    refusals.endMove({ units: 40, limitUnits: 100 });
    refusals.note(limit, 40);
    expect(refusals.isPending).toBe(false);
    refusals.note(limit, 39);
    expect(refusals.beginMove(limit)).toBe(39);
  });

  it('ignores requests that even the unused limit refuses, and limits that only warn or count rates', () => {
    const refusals = new Refusals();
    refusals.note(limit, 101);
    refusals.note({ ...limit, isHard: false }, 50);
    refusals.note({ ...limit, isRate: true }, 50);
    expect(refusals.isPending).toBe(false);
    refusals.note(limit, 100);
    expect(refusals.beginMove(limit)).toBe(100);
  });

  it('repeats a refusal whose move failed, unless a smaller one has come', () => {
    const refusals = new Refusals();
    refusals.note(limit, 50);
    refusals.beginMove(limit);
    refusals.undoMove();
    expect(refusals.beginMove(limit)).toBe(50);
    refusals.note(limit, 30);
    refusals.undoMove();
    expect(refusals.beginMove(limit)).toBe(30);
  });

  it('forgets refusals of another limit', () => {
    const refusals = new Refusals();
    refusals.note(limit, 50);
    expect(refusals.beginMove({ ...limit, limitUnits: 200 })).toBeNull();
    expect(refusals.isPending).toBe(false);
    refusals.endMove({ units: 50, limitUnits: 100 });
    refusals.note({ ...limit, limitUnits: 200 }, 60);
    expect(refusals.hasNew).toBe(true);
  });
});
