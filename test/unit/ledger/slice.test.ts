/** Verifies which units a slice takes in advance, and which it returns. */
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../../src/ledger/limit.ts';
import { Slice } from '../../../src/ledger/slice.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import type { SliceMove } from '../../../src/store/usage/slice-moves.ts';

const limit: Limit = {
  organisationId: newId(),
  subjectKind: 'api_key',
  subjectId: newId(),
  windowStart: 0,
  endsAt: null,
  valueKey: '',
  type: 'cost',
  limitUnits: 1_000_000,
  alertThresholdUnits: null,
  isRate: false,
  isHard: true,
  label: 'API key ci',
};

function begin(slice: Slice, nowMs: number, isDue = true): SliceMove | null {
  return slice.beginMove({ nowMs, isDue, hasEnded: false });
}

/** A slice that was granted 1,000 units, and uses 100 of them each 100 ms until the returned time. */
function busySlice(): { readonly slice: Slice; readonly nowMs: number } {
  const slice = new Slice(limit, { endsMs: Number.POSITIVE_INFINITY });
  slice.needs.add({ units: 1_000, unitsMin: 1_000 });
  begin(slice, 0);
  slice.needs.clear();
  slice.endMove(
    { granted: 1_000, usedUnits: 0, reservedUnits: 1_000, refused: null, shortage: null },
    0,
    0,
  );
  let nowMs = 0;
  for (; nowMs < 800; nowMs += 100) slice.charge(100, nowMs);
  return { slice, nowMs };
}

describe('a busy slice', () => {
  it('takes units in advance', () => {
    const { slice, nowMs } = busySlice();
    expect(begin(slice, nowMs)!.want).toBeGreaterThan(0);
  });

  it('returns its free units and takes none in advance for a second after another process lacked them', () => {
    const { slice, nowMs } = busySlice();
    slice.recall(nowMs);
    const answer = begin(slice, nowMs, false)!;
    expect(answer).toMatchObject({ isAnswer: true, offered: 200, want: 0 });
    slice.endMove(
      { granted: 0, usedUnits: 800, reservedUnits: 0, refused: null, shortage: null },
      nowMs,
      nowMs,
    );
    slice.charge(100, nowMs + 500);
    expect(begin(slice, nowMs + 500)!.want).toBe(0);
    slice.endMove(
      { granted: 0, usedUnits: 900, reservedUnits: 0, refused: null, shortage: null },
      nowMs + 500,
      nowMs + 500,
    );
    slice.charge(100, nowMs + 1_000);
    expect(begin(slice, nowMs + 1_000)!.want).toBeGreaterThan(0);
  });
});
