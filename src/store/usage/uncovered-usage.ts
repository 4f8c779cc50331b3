/** Charges usage that no slice covers. */
import type { Db } from '../connection/db.ts';
import type { SliceMove } from './slice-moves.ts';
import * as usageSlices from './usage-slices.ts';

/** Units of one counter, and the terms of its limit. */
export interface UncoveredUsage
  extends Pick<
    SliceMove,
    'counter' | 'limitUnits' | 'alertThresholdUnits' | 'type' | 'label' | 'isNew'
  > {
  /** Whole units; negative for a refund. */
  readonly units: number;
}

/** Holds no slice and gets none. */
const noHolder = Buffer.alloc(16);

/** A counter may be missing where `isNew` is set; without it, usage of a deleted counter is dropped. */
export async function charge(
  tx: Db,
  organisationId: string,
  usages: readonly UncoveredUsage[],
  now: number,
  grant?: usageSlices.GrantMoves,
): Promise<void> {
  if (usages.length === 0) return;
  const moves = usages.map(moveOf);
  await usageSlices.exchange(tx, { organisationId, holder: noHolder }, moves, now, grant);
}

/** A move that spends as much as it offers back, so that it raises alerts like any other move. */
function moveOf({ units, ...terms }: UncoveredUsage): SliceMove {
  return {
    ...terms,
    units: 0,
    spent: units,
    offered: -units,
    needs: [],
    want: 0,
    isAnswer: false,
    leaseMs: null,
    refusedUnits: null,
  };
}
