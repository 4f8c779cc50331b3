/** Finds slices that a holder has lost, because they were charged when their lease had ended. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type CounterKey, counterKeyText } from './counter-place.ts';
import type { SliceMove } from './slice-moves.ts';
import type { Holder } from './usage-holders.ts';

/** Counters by `counterKeyText` of moves of which a holder had a slice that was charged. */
export async function listLostSlices(
  tx: Db,
  { organisationId, holder }: Holder,
  moves: readonly SliceMove[],
): Promise<string[]> {
  const lost: string[] = [];
  for (const isRate of [false, true]) {
    const some = moves.filter(({ units, counter }) => units > 0 && counter.isRate === isRate);
    if (some.length === 0) continue;
    const places = some.map(
      ({ counter: { subjectKind, subjectId, windowStart, id } }) =>
        sql`(${Number(isRate)}, ${subjectKind}, ${subjectId}, ${windowStart}, ${id})`,
    );
    const { rows: found } = await sql<CounterKey>`
      SELECT subject_kind AS subjectKind, subject_id AS subjectId, window_start AS windowStart,
        counter_id AS id FROM usage_slices
      WHERE organisation_id = ${organisationId} AND holder = ${holder} AND charged_at IS NULL
        AND (is_rate, subject_kind, subject_id, window_start, counter_id) IN (${sql.join(places)})`.execute(
      tx,
    );
    const held = new Set(found.map(counterKeyText));
    lost.push(
      ...some.map(({ counter }) => counterKeyText(counter)).filter((key) => !held.has(key)),
    );
  }
  return lost;
}
