/** Tests the units that a slice counts as used. */
import { describe, expect, it } from 'vitest';
import { HeldUnits } from '../../../src/ledger/held-units.ts';
import type { SliceMove } from '../../../src/store/usage/slice-moves.ts';

/** A move that reports all usage and returns nothing. */
function moveOf(held: HeldUnits): SliceMove {
  return { spent: held.spent + held.drawnSpent, offered: 0 } as SliceMove;
}

/** 100 units of the bank, 30 of them used and 10 reserved, and 25 units of the process itself, 20 of them used. */
function busyUnits(): HeldUnits {
  const held = new HeldUnits();
  held.endMove(100, 0);
  held.reserve(40);
  held.settle({ holding: 0, units: 30, isDrawn: false }, 30);
  held.draw(25);
  held.settle({ holding: 0, units: 20, isDrawn: true }, 20);
  return held;
}

const countsOf = ({
  units,
  reserved,
  spent,
  drawnReserved,
  drawnSpent,
  drawn,
  total,
}: HeldUnits) => ({
  units,
  reserved,
  spent,
  drawnReserved,
  drawnSpent,
  drawn,
  total,
});

it('counts all units of a lost slice as used, because they are charged, and what was used beyond them', () => {
  const held = new HeldUnits();
  held.endMove(100, 0);
  held.reserve(40);
  held.charge(30);
  held.lose();
  expect([held.total, held.spent]).toEqual([100, 0]);
  held.endMove(10, 0);
  held.charge(25);
  held.lose();
  expect([held.total, held.spent]).toEqual([125, 15]);
});

it('counts what was used beyond a reservation of a lost slice, whose units are already charged', () => {
  const held = busyUnits();
  held.lose();
  held.settle({ holding: 0, units: 10, isDrawn: false }, 14);
  held.settle({ holding: 0, units: 10, isDrawn: false }, 6);
  expect(held.spent).toBe(4);
  expect(held.reserved).toBe(0);
});

describe('a refund', () => {
  it('first takes back units that the process granted itself', () => {
    const held = busyUnits();
    held.refund(20, 0);
    expect([held.drawnSpent, held.spent]).toEqual([0, 30]);
    held.refund(20, 0);
    expect([held.drawnSpent, held.spent]).toEqual([0, 10]);
  });

  it('takes nothing back of a lost slice, whose units are already charged', () => {
    const held = new HeldUnits();
    held.endMove(100, 0);
    held.charge(30);
    held.lose();
    held.charge(5);
    held.refund(5, 0);
    expect(held.spent).toBe(5);
  });
});

describe('a move', () => {
  it('reports all usage, and remembers the grants of the process in this window', () => {
    const held = busyUnits();
    held.beginMove(moveOf(held));
    expect(held).toMatchObject({ spent: 0, drawnSpent: 0, drawnBefore: 20, drawn: 25 });
    expect(held.uncovered).toEqual({ before: 20, after: 5, running: 5 });
    expect(held.total).toBe(30);
  });

  it('changes nothing when it fails', () => {
    const held = busyUnits();
    const before = countsOf(held);
    const move = moveOf(held);
    held.beginMove(move);
    held.undoMove(move);
    expect(countsOf(held)).toEqual(before);
    expect(held.uncovered).toEqual({ before: 0, after: 25, running: 5 });
  });

  it('ends grants of the process as far as the counter is within its limit', () => {
    const held = busyUnits();
    held.beginMove(moveOf(held));
    held.endMove(60, 12);
    expect(held.drawnBefore).toBe(12);
    held.endMove(0, -5);
    expect(held.drawnBefore).toBe(0);
    expect(held.uncovered.before).toBe(0);
  });
});

it('is open while requests run or usage is not reported', () => {
  const held = new HeldUnits();
  held.endMove(100, 0);
  expect(held.isOpen).toBe(false);
  held.reserve(10);
  expect(held.isOpen).toBe(true);
  held.settle({ holding: 0, units: 10, isDrawn: false }, 0);
  expect(held.isOpen).toBe(false);
  held.draw(5);
  expect(held.isOpen).toBe(true);
  held.settle({ holding: 0, units: 5, isDrawn: true }, 5);
  expect(held.isOpen).toBe(true);
  held.forget();
  expect(held.isOpen).toBe(false);
  held.charge(1);
  expect(held.isOpen).toBe(true);
});
