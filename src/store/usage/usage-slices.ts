/** Table functions for usage_slices: the parts of counters that processes hold, and their exchange. */
import { type RawBuilder, sql } from 'kysely';
import { isExhaustedAlertSent, isThresholdAlertSent } from '../../model/limits/counter-state.ts';
import type { UsageType } from '../../model/limits/limits.ts';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';
import { type CounterRef, counterKeyText, counterTable } from './counter-place.ts';
import type { NewUsageAlert } from './usage-alerts.ts';
import * as usageAlerts from './usage-alerts.ts';
import type { CountedKind } from './usage-counters.ts';
import type { Holder } from './usage-holders.ts';
import { readShortage, type SliceShortage } from './wanted-slices.ts';

interface UsageSliceRow {
  organisation_id: string;
  holder: Buffer;
  is_rate: number;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  counter_id: Buffer;
  /** Part of the counter's `reserved_units`. */
  units: number;
  /** When the holder last returned its idle units, or had none; milliseconds by the database's clock. */
  answered_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_slices: UsageSliceRow;
  }
}

const table = rows('usage_slices');

/** Units that a waiting request needs, and the minimum that suffices. */
export interface UnitsNeed {
  readonly units: number;
  readonly unitsMin: number;
}

/** A holder's usage of a counter, with the units that it returns and requests. */
export interface SliceMove {
  readonly counter: CounterRef;
  /** Whether the holder has no slice of this counter, which then may not exist. */
  readonly isNew: boolean;
  /** In the holder's slice now. */
  readonly units: number;
  /** Used since the last move; negative when refunds exceed the usage. */
  readonly spent: number;
  /** Returned for redistribution; negative for usage beyond the slice. */
  readonly offered: number;
  /** Needs of waiting requests in order of arrival. */
  readonly needs: readonly UnitsNeed[];
  /** Additional units, so that the next exchange is later. */
  readonly want: number;
  /** Whether it returns all idle units because another process runs short. */
  readonly isAnswer: boolean;
  readonly limitUnits: number;
  /** Null without an alert threshold. */
  readonly alertThresholdUnits: number | null;
  readonly type: UsageType;
  /** Display name of the limit. */
  readonly label: string;
}

/** Outcome of a move; null when the counter was deleted, and its slices with it. */
export type MoveOutcome = {
  /** Units that the holder can use after the move. */
  readonly granted: number;
  /** Totals of the counter after the move. */
  readonly usedUnits: number;
  readonly reservedUnits: number;
  /** Set when the grant does not cover all waiting requests. */
  readonly shortage: SliceShortage | null;
} | null;

/**
 * Carries out moves of one holder, whose lease was renewed in this transaction. Counters are locked
 * before they are read, so that all grants and the usage together stay within the limit; only usage that
 * already happened can exceed it. Returns the outcomes in the order of the moves.
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
    const counters = await lockCounters(tx, holder.organisationId, isRate, some);
    const counted: CountedMove[] = [];
    for (const move of some) {
      const row = counters.get(counterKeyText(move.counter));
      if (row === undefined) outcomes.set(move, null);
      else counted.push(applyMove(move, row));
    }
    for (const { move, outcome, isShort } of counted) {
      const shortage = isShort ? await readShortage(tx, holder, move.counter) : null;
      outcomes.set(move, { ...outcome, shortage });
    }
    await writeCounters(tx, holder.organisationId, isRate, counted);
    await usageAlerts.insertMany(tx, alertsToSend(holder.organisationId, counted, now));
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

interface CountedMove {
  readonly move: SliceMove;
  readonly outcome: Omit<NonNullable<MoveOutcome>, 'shortage'>;
  readonly alerts: { readonly threshold: number | null; readonly exhausted: number | null };
  /** The counter before the move. */
  readonly state: CounterState;
  /** Whether other holders must return their idle units. */
  readonly isShort: boolean;
}

/** Computes one move on the locked counter. */
function applyMove(move: SliceMove, state: CounterState): CountedMove {
  const { spent, offered, needs, want, limitUnits } = move;
  const usedUnits = Math.max(0, state.used_units + spent);
  const left = Math.max(0, state.reserved_units - spent - offered);
  const { granted, isShort } = grantOf(limitUnits - usedUnits - left, needs, want);
  const outcome = { granted, usedUnits, reservedUnits: left + granted };
  return { move, state, outcome, alerts: alertsOf(move, state, usedUnits), isShort };
}

/**
 * Distributes the free units to waiting requests in order: all that each needs, else the remainder if it
 * covers the minimum, else nothing. Additional units are at most a quarter of the remainder, so that the
 * last units do not lie idle with one holder.
 */
function grantOf(
  free: number,
  needs: readonly UnitsNeed[],
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
): CountedMove['alerts'] {
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

/** Inserts missing counters with exclusive locks. `INSERT IGNORE` takes shared locks, which would deadlock in the update. */
async function insertMissing(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  moves: readonly SliceMove[],
): Promise<void> {
  const rows = moves
    .filter(({ isNew }) => isNew)
    .toSorted((a, b) => (counterKeyText(a.counter) < counterKeyText(b.counter) ? -1 : 1))
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
      return [counterKeyText({ subjectKind, subjectId, windowStart, id }), state];
    }),
  );
}

function numberOrNull(units: unknown): number | null {
  return units === null ? null : Number(units);
}

/** Writes all counters with one statement; the rows are locked, so that absolute values are safe. */
async function writeCounters(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  moves: readonly CountedMove[],
): Promise<void> {
  if (moves.length === 0) return;
  const values = moves.map(({ move: { counter }, outcome, alerts, state, isShort }) => {
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
    VALUES ${sql.join(values)}
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
  moves: readonly CountedMove[],
  now: number,
): NewUsageAlert[] {
  return moves.flatMap(({ move: { counter, limitUnits, type, label }, outcome, alerts }) => {
    const alert = (kind: NewUsageAlert['kind'], units: number): NewUsageAlert => ({
      organisation_id: organisationId,
      subject_kind: counter.subjectKind,
      subject_id: counter.subjectId,
      window_start: counter.windowStart,
      counter_id: counter.id,
      kind,
      limit_units: units,
      used_units: outcome.usedUnits,
      type,
      label,
      value_key: counter.valueKey,
      created_at: now,
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
  const written: RawBuilder<unknown>[] = [];
  const ended: RawBuilder<unknown>[] = [];
  for (const move of moves) {
    const { subjectKind, subjectId, windowStart, id, isRate } = move.counter;
    const outcome = outcomes.get(move);
    const units = outcome ? move.units - move.spent - move.offered + outcome.granted : 0;
    const place = sql`${Number(isRate)}, ${subjectKind}, ${subjectId}, ${windowStart}, ${id}`;
    // A slice that was empty before the move has no idle units.
    const answeredAt = move.isAnswer || move.units === 0 ? serverNowMs : null;
    if (units > 0)
      written.push(sql`(${organisationId}, ${holder}, ${place}, ${units}, ${answeredAt})`);
    else if (move.units > 0) ended.push(sql`(${place})`);
  }
  if (written.length > 0)
    await sql`
      INSERT INTO usage_slices (organisation_id, holder, is_rate, subject_kind, subject_id,
        window_start, counter_id, units, answered_at)
      VALUES ${sql.join(written)} ON DUPLICATE KEY UPDATE units = VALUES(units),
        answered_at = COALESCE(VALUES(answered_at), answered_at)`.execute(tx);
  if (ended.length > 0)
    await sql`
      DELETE FROM usage_slices WHERE organisation_id = ${organisationId} AND holder = ${holder}
        AND (is_rate, subject_kind, subject_id, window_start, counter_id) IN (${sql.join(ended)})`.execute(
      tx,
    );
}

/**
 * Charges all units of a locked holder as used, because the actual usage is unknown, and deletes its
 * slices. Returns their number.
 */
export async function chargeAll(tx: Db, { organisationId, holder }: Holder): Promise<number> {
  const slices = await table.list(tx, { organisation_id: organisationId, holder });
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
  await table.delete(tx, { organisation_id: organisationId, holder });
  return slices.length;
}
