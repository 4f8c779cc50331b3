/** Verifies how a move distributes the free units of a counter. */
import { describe, expect, it } from 'vitest';
import { idToBytes, newId } from '../../../../src/model/wire/ids.ts';
import {
  applyMove,
  type SliceMove,
  type UnitsNeed,
} from '../../../../src/store/usage/slice-moves.ts';

const id = idToBytes(newId());
const counter = {
  isRate: false,
  subjectKind: 'api_key',
  subjectId: id,
  windowStart: 0,
  valueKey: '',
  endsAt: null,
  id,
} as const;

/** Units that a holder receives of 220 free ones. */
function grantedFor(needs: readonly UnitsNeed[], want: number): number {
  const move: SliceMove = {
    counter,
    needs,
    want,
    isNew: false,
    units: 0,
    spent: 0,
    offered: 0,
    isAnswer: false,
    leaseMs: null,
    refusedUnits: null,
    limitUnits: 1_000,
    alertThresholdUnits: null,
    type: 'cost',
    label: 'API key ci',
  };
  const state = {
    subject_kind: 'api_key',
    subject_id: id,
    window_start: 0,
    id,
    used_units: 780,
    reserved_units: 0,
    threshold_alert_units: null,
    exhausted_alert_units: null,
    refused_units: null,
    refused_limit_units: null,
  } as const;
  return applyMove(move, state).outcome.granted;
}

describe('a move', () => {
  it('takes at most a quarter of what is left in advance', () => {
    expect(grantedFor([], 1_000)).toBe(55);
    expect(grantedFor([{ units: 100, unitsMin: 10 }], 1_000)).toBe(130);
  });

  it('takes nothing in advance while a request waits for more than is left', () => {
    expect(grantedFor([{ units: 300, unitsMin: 250 }], 1_000)).toBe(0);
    expect(
      grantedFor(
        [
          { units: 300, unitsMin: 250 },
          { units: 100, unitsMin: 10 },
        ],
        1_000,
      ),
    ).toBe(100);
  });

  it('gives a request all that is left when that suffices', () => {
    expect(grantedFor([{ units: 300, unitsMin: 200 }], 1_000)).toBe(220);
  });
});
