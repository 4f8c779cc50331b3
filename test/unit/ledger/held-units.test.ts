/** Tests the units that a slice counts as used. */
import { expect, it } from 'vitest';
import { HeldUnits } from '../../../src/ledger/held-units.ts';

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
