/** Knows the usage_slices table: which parts of counters processes hold, and how these change hands. */
import { type RawBuilder, sql } from 'kysely';
import { isExhaustedAlertSent, isThresholdAlertSent } from '../../model/limits/counter-state.ts';
import type { UsageType } from '../../model/limits/limits.ts';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { type CounterPlace, counterTable, placeKey } from './counter-place.ts';
import type { NewUsageAlert } from './usage-alerts.ts';
import * as usageAlerts from './usage-alerts.ts';
import type { CountedKind } from './usage-counters.ts';
import type { Holder } from './usage-holders.ts';
import { type HeardShortage, readShortage } from './wanted-slices.ts';

interface UsageSliceRow {
  organisation_id: string;
  holder: Buffer;
  is_rate: number;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  counter_id: Buffer;
  /** Part of the counter's reserved_units. */
  units: number;
  /** When the holder last gave back what lay idle with it, or had nothing that did; ms by the database's clock. */
  answered_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_slices: UsageSliceRow;
  }
}

/** What a waiting request asks for: `units`, and how much less would do. */
export interface Need {
  readonly units: number;
  readonly unitsMin: number;
}

/** What a holder has used of a counter, gives back, and asks for. Whole units. */
export interface SliceMove {
  readonly counter: CounterPlace;
  /** Whether the holder has nothing of this counter yet, which then may not exist. */
  readonly isNew: boolean;
  /** In the holder's slice now. */
  readonly units: number;
  /** Used since the last move; negative where more was given back than was used. */
  readonly spent: number;
  /** Given into the move to be granted anew or left; negative for what was used beyond the slice. */
  readonly offered: number;
  /** What is waited for, first come first served. */
  readonly needs: readonly Need[];
  /** More than is needed, so as not to ask again soon. */
  readonly want: number;
  /** Whether it offers all that lies idle, as somebody else lacks it. */
  readonly isAnswer: boolean;
  readonly limitUnits: number;
  /** Null where nobody is told. */
  readonly alertThresholdUnits: number | null;
  readonly type: UsageType;
  /** What people call the limit. */
  readonly label: string;
}

/** How a move went; null where the counter is gone, and with it all that was held of it. */
export type MoveOutcome = {
  /** Free for the holder after the move, of what it offered and what it asked for. */
  readonly granted: number;
  /** Of everybody, after the move. */
  readonly usedUnits: number;
  readonly reservedUnits: number;
  /** Of a move that did not get all that is waited for; else null. */
  readonly shortage: HeardShortage | null;
} | null;

/**
 * Carries out moves of one holder, whose lease was renewed in this transaction. The counters are locked
 * before they are read and written after, so that what is granted of one to everybody together, and
 * what was used of it, stays within its limit; only what was used already may be beyond it.
 * Yields the outcomes in the order of the moves.
 */
export async function exchange(
  tx: Db,
  holder: Holder,
  moves: readonly SliceMove[],
  now: number,
): Promise<MoveOutcome[]> {
  const outcomes = new Map<SliceMove, MoveOutcome>();
  for (const isRate of [false, true]) {
    const some = moves.filter(({ counter }) => counter.isRate === isRate);
    if (some.length === 0) continue;
    await insertMissing(tx, holder.organisationId, isRate, some);
    const found = await lockCounters(tx, holder.organisationId, isRate, some);
    const settled: Settled[] = [];
    for (const move of some) {
      const row = found.get(placeKey(move.counter));
      if (row === undefined) outcomes.set(move, null);
      else settled.push(settle(move, row));
    }
    for (const { move, outcome, isShort } of settled) {
      const shortage = isShort ? await readShortage(tx, holder, move.counter) : null;
      outcomes.set(move, { ...outcome, shortage });
    }
    await writeCounters(tx, holder.organisationId, isRate, settled);
    await usageAlerts.insertMany(tx, alertsToSend(holder.organisationId, settled, now));
  }
  await writeSlices(tx, holder, moves, outcomes);
  return moves.map((move) => outcomes.get(move)!);
}

interface CounterState {
  readonly subject_kind: CountedKind;
  readonly subject_id: Buffer;
  readonly window_start: number;
  readonly id: Buffer;
  readonly used_units: number;
  readonly reserved_units: number;
  readonly threshold_alert_units: number | null;
  readonly exhausted_alert_units: number | null;
}

interface Settled {
  readonly move: SliceMove;
  readonly outcome: Omit<NonNullable<MoveOutcome>, 'shortage'>;
  readonly alerts: { readonly threshold: number | null; readonly exhausted: number | null };
  /** What the alerts were before. */
  readonly state: CounterState;
  /** Whether others are to give back what lies idle with them. */
  readonly isShort: boolean;
}

/** The arithmetic of one move upon the counter as it is. */
function settle(move: SliceMove, state: CounterState): Settled {
  const { spent, offered, needs, want, limitUnits } = move;
  const usedUnits = Math.max(0, state.used_units + spent);
  const left = Math.max(0, state.reserved_units - spent - offered);
  const { granted, isShort } = grantOf(limitUnits - usedUnits - left, needs, want);
  const outcome = { granted, usedUnits, reservedUnits: left + granted };
  return { move, state, outcome, alerts: alertsOf(move, state, usedUnits), isShort };
}

/**
 * What is waited for, as far as it suffices: to who comes first all, or what is left where they would make
 * do with it, and nothing to whom neither helps. Beyond that a quarter of what is left at most, so that
 * the last of it does not lie with somebody who does not need it.
 */
function grantOf(
  free: number,
  needs: readonly Need[],
  want: number,
): { readonly granted: number; readonly isShort: boolean } {
  let left = Math.max(0, free);
  let isShort = false;
  for (const { units, unitsMin } of needs) {
    if (left >= units) left -= units;
    else {
      isShort = true;
      if (left >= unitsMin) left = 0;
    }
  }
  left -= Math.min(want, Math.floor(left / 4));
  return { granted: Math.max(0, free) - left, isShort };
}

function alertsOf(
  { limitUnits, alertThresholdUnits, counter }: SliceMove,
  state: CounterState,
  usedUnits: number,
): Settled['alerts'] {
  const before = {
    usedUnits: BigInt(usedUnits),
    thresholdAlertUnits: bigintOrNull(state.threshold_alert_units),
    exhaustedAlertUnits: bigintOrNull(state.exhausted_alert_units),
  };
  const terms = { creditLimitUnits: limitUnits, alertThresholdUnits };
  if (counter.isRate) return { threshold: null, exhausted: null };
  const isOver = alertThresholdUnits !== null && usedUnits >= alertThresholdUnits;
  const isUsedUp = usedUnits >= limitUnits && limitUnits > 0;
  return {
    threshold: isOver && !isThresholdAlertSent(before, terms) ? alertThresholdUnits : null,
    exhausted: isUsedUp && !isExhaustedAlertSent(before, terms) ? usedUnits : null,
  };
}

function bigintOrNull(units: number | null): bigint | null {
  return units === null ? null : BigInt(units);
}

/** Makes counters that nobody has counted in yet. Locks all, to be written; two that share a lock (`INSERT IGNORE`) deadlock then. */
async function insertMissing(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  moves: readonly SliceMove[],
): Promise<void> {
  const rows = moves
    .filter(({ isNew }) => isNew)
    .toSorted((a, b) => (placeKey(a.counter) < placeKey(b.counter) ? -1 : 1))
    .map(({ counter: { subjectKind, subjectId, windowStart, id, valueKey, endsAt } }) => {
      const end = isRate ? sql`, ${endsAt}` : sql``;
      return sql`(${organisationId}, ${subjectKind}, ${subjectId}, ${windowStart}, ${id}, ${valueKey}${end})`;
    });
  if (rows.length === 0) return;
  const columns = sql.raw(`value_key${isRate ? ', ends_at' : ''}`);
  await sql`
    INSERT INTO ${counterTable(isRate)} (organisation_id, subject_kind, subject_id, window_start, id, ${columns})
    VALUES ${sql.join(rows)} ON DUPLICATE KEY UPDATE value_key = value_key`.execute(tx);
}

async function lockCounters(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  moves: readonly SliceMove[],
): Promise<Map<string, CounterState>> {
  const places = moves.map(
    ({ counter: { subjectKind, subjectId, windowStart, id } }) =>
      sql`(${subjectKind}, ${subjectId}, ${windowStart}, ${id})`,
  );
  const alerts = isRate
    ? sql`NULL AS threshold_alert_units, NULL AS exhausted_alert_units`
    : sql`threshold_alert_units, exhausted_alert_units`;
  const { rows } = await sql<{ [K in keyof CounterState]: CounterState[K] | string }>`
    SELECT subject_kind, subject_id, window_start, id, used_units, reserved_units, ${alerts}
    FROM ${counterTable(isRate)}
    WHERE organisation_id = ${organisationId}
      AND (subject_kind, subject_id, window_start, id) IN (${sql.join(places)})
    ORDER BY subject_kind, subject_id, window_start, id FOR UPDATE`.execute(tx);
  return new Map(
    rows.map((row) => {
      const state = {
        ...(row as CounterState),
        used_units: Number(row.used_units),
        reserved_units: Number(row.reserved_units),
        threshold_alert_units: numberOrNull(row.threshold_alert_units),
        exhausted_alert_units: numberOrNull(row.exhausted_alert_units),
      };
      const {
        subject_kind: subjectKind,
        subject_id: subjectId,
        window_start: windowStart,
        id,
      } = state;
      return [placeKey({ subjectKind, subjectId, windowStart, id }), state];
    }),
  );
}

function numberOrNull(units: unknown): number | null {
  return units === null ? null : Number(units);
}

/** In one statement: the rows are locked, and what is written follows from what was read of them. */
async function writeCounters(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  settled: readonly Settled[],
): Promise<void> {
  if (settled.length === 0) return;
  const rows = settled.map(({ move: { counter }, outcome, alerts, state, isShort }) => {
    const { subjectKind, subjectId, windowStart, id, valueKey, endsAt } = counter;
    const rest = isRate
      ? sql`, ${endsAt}`
      : sql`, ${alerts.threshold ?? state.threshold_alert_units},
          ${alerts.exhausted ?? state.exhausted_alert_units}`;
    return sql`(${organisationId}, ${subjectKind}, ${subjectId}, ${windowStart}, ${id}, ${valueKey},
      ${outcome.usedUnits}, ${outcome.reservedUnits}, ${isShort ? serverNowMs : null}${rest})`;
  });
  const alerted = ['threshold_alert_units', 'exhausted_alert_units'];
  const more = isRate ? ['ends_at'] : alerted;
  const columns = ['used_units', 'reserved_units', 'wanted_at', ...(isRate ? [] : alerted)];
  const key = 'organisation_id, subject_kind, subject_id, window_start, id, value_key';
  await sql`
    INSERT INTO ${counterTable(isRate)}
      (${sql.raw([key, 'used_units', 'reserved_units', 'wanted_at', ...more].join(', '))})
    VALUES ${sql.join(rows)}
    ON DUPLICATE KEY UPDATE ${sql.raw(
      columns
        .map((column) =>
          column === 'wanted_at'
            ? 'wanted_at = COALESCE(VALUES(wanted_at), wanted_at)'
            : `${column} = VALUES(${column})`,
        )
        .join(', '),
    )}`.execute(tx);
}

function alertsToSend(
  organisationId: string,
  settled: readonly Settled[],
  now: number,
): NewUsageAlert[] {
  return settled.flatMap(({ move: { counter, limitUnits, type, label }, outcome, alerts }) => {
    const alert = (kind: NewUsageAlert['kind'], units: number): NewUsageAlert => ({
      organisation_id: organisationId,
      subject_kind: counter.subjectKind,
      subject_id: counter.subjectId,
      window_start: counter.windowStart,
      counter_id: counter.id,
      kind,
      limit_units: units,
      used_units: outcome.usedUnits,
      ...{ type, label, value_key: counter.valueKey, created_at: now },
    });
    return [
      ...(alerts.threshold === null ? [] : [alert('threshold', alerts.threshold)]),
      ...(alerts.exhausted === null ? [] : [alert('exhausted', limitUnits)]),
    ];
  });
}

async function writeSlices(
  tx: Db,
  { organisationId, holder }: Holder,
  moves: readonly SliceMove[],
  outcomes: ReadonlyMap<SliceMove, MoveOutcome>,
): Promise<void> {
  const kept: RawBuilder<unknown>[] = [];
  const ended: RawBuilder<unknown>[] = [];
  for (const move of moves) {
    const { subjectKind, subjectId, windowStart, id, isRate } = move.counter;
    const outcome = outcomes.get(move);
    const units = outcome ? move.units - move.spent - move.offered + outcome.granted : 0;
    const place = sql`${Number(isRate)}, ${subjectKind}, ${subjectId}, ${windowStart}, ${id}`;
    // Who has just got something for those who wait has nothing idle.
    const answeredAt = move.isAnswer || move.units === 0 ? serverNowMs : null;
    if (units > 0)
      kept.push(sql`(${organisationId}, ${holder}, ${place}, ${units}, ${answeredAt})`);
    else if (move.units > 0) ended.push(sql`(${place})`);
  }
  if (kept.length > 0)
    await sql`
      INSERT INTO usage_slices (organisation_id, holder, is_rate, subject_kind, subject_id,
        window_start, counter_id, units, answered_at)
      VALUES ${sql.join(kept)} ON DUPLICATE KEY UPDATE units = VALUES(units),
        answered_at = COALESCE(VALUES(answered_at), answered_at)`.execute(tx);
  if (ended.length > 0)
    await sql`
      DELETE FROM usage_slices WHERE organisation_id = ${organisationId} AND holder = ${holder}
        AND (is_rate, subject_kind, subject_id, window_start, counter_id) IN (${sql.join(ended)})`.execute(
      tx,
    );
}

/**
 * Charges all that a locked holder has as used, because nobody knows how much of it was, and deletes
 * its slices. Yields how many those were.
 */
export async function chargeAll(tx: Db, { organisationId, holder }: Holder): Promise<number> {
  const slices = await tx
    .selectFrom('usage_slices')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('holder', '=', holder)
    .execute();
  for (const slice of slices) {
    const assumed = slice.is_rate ? sql`` : sql`, assumed_units = assumed_units + ${slice.units}`;
    await sql`
      UPDATE ${counterTable(slice.is_rate === 1)}
      SET used_units = used_units + ${slice.units},
        reserved_units = reserved_units - ${slice.units}${assumed}
      WHERE organisation_id = ${organisationId} AND subject_kind = ${slice.subject_kind}
        AND subject_id = ${slice.subject_id} AND window_start = ${slice.window_start}
        AND id = ${slice.counter_id}`.execute(tx);
  }
  await tx
    .deleteFrom('usage_slices')
    .where('organisation_id', '=', organisationId)
    .where('holder', '=', holder)
    .execute();
  return slices.length;
}
