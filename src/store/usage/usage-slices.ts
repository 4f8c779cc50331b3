/** Table functions for usage_slices: the parts of counters that processes hold, and their exchange. */
import { type Generated, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';
import { type CounterKey, counterKeyList, counterKeyText, counterTable } from './counter-place.ts';
import {
  applyMove,
  type CountedMove,
  type LockedCounter,
  type MoveOutcome,
  type SliceMove,
} from './slice-moves.ts';
import type { NewUsageAlert } from './usage-alerts.ts';
import * as usageAlerts from './usage-alerts.ts';
import type { CountedKind } from './usage-counters.ts';
import type { Holder } from './usage-holders.ts';
import { readShortage } from './wanted-slices.ts';

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
  /** End of its own lease, by the database's clock; null when it ends with the lease of its holder. */
  lease_until: Generated<number | null>;
  /** When its units were charged, because its lease ended; kept for a holder with a journal. */
  charged_at: Generated<number | null>;
  /** Units that the holder has used in all, as of its last move; null when it did not tell. */
  total_units: Generated<number | null>;
  /** When the holder last returned its idle units, or had none; milliseconds by the database's clock. */
  answered_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_slices: UsageSliceRow;
  }
}

export type StoredSlice = Selectable<UsageSliceRow>;

const table = rows('usage_slices');

/** A move and its locked counter. */
export interface LockedMove {
  readonly move: SliceMove;
  readonly state: LockedCounter;
}

/** A move that was computed, and what its holder learns. */
export interface GrantedMove extends CountedMove {
  readonly answer: NonNullable<MoveOutcome>;
}

/** Computes moves of locked counters, all budgets or all rate limits, in their order. */
export type GrantMoves = (
  tx: Db,
  holder: Holder,
  moves: readonly LockedMove[],
) => Promise<readonly GrantedMove[]>;

/** Grants up to the limits. */
const grantWithinLimits: GrantMoves = async (tx, holder, moves) => {
  const granted: GrantedMove[] = [];
  for (const { move, state } of moves) {
    const counted = applyMove(move, state);
    const shortage = counted.isShort ? await readShortage(tx, holder, move.counter) : null;
    granted.push({ ...counted, answer: { ...counted.outcome, shortage } });
  }
  return granted;
};

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
  grant: GrantMoves = grantWithinLimits,
): Promise<MoveOutcome[]> {
  const outcomes = new Map<SliceMove, MoveOutcome>();
  for (const isRate of [false, true]) {
    const some = moves.filter(({ counter }) => counter.isRate === isRate);
    if (some.length === 0) continue;
    await insertMissing(tx, holder.organisationId, isRate, some);
    const counters = await lockCounters(tx, holder.organisationId, isRate, some);
    const locked: LockedMove[] = [];
    for (const move of some) {
      const state = counters.get(counterKeyText(move.counter));
      if (state === undefined) outcomes.set(move, null);
      else locked.push({ move, state });
    }
    const granted = await grant(tx, holder, locked);
    for (const { move, answer } of granted) outcomes.set(move, answer);
    await writeCounters(tx, holder.organisationId, isRate, granted);
    await usageAlerts.insertMany(tx, alertsToSend(holder.organisationId, granted, now));
  }
  await writeSlices(tx, holder, moves, outcomes);
  return moves.map((move) => outcomes.get(move)!);
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

/** Columns of counters of budgets that counters of rate limits lack. */
const budgetColumns = [
  'threshold_alert_units',
  'exhausted_alert_units',
  'refused_units',
  'refused_limit_units',
];

/** The counters that exist, by `counterKeyText`. */
export async function lockCounters(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  moves: readonly { readonly counter: CounterKey }[],
): Promise<Map<string, LockedCounter>> {
  const places = counterKeyList(moves.map(({ counter }) => counter));
  const alerts = sql.raw(
    budgetColumns.map((column) => (isRate ? `NULL AS ${column}` : column)).join(', '),
  );
  const { rows } = await sql<{ [K in keyof LockedCounter]: LockedCounter[K] | string }>`
    SELECT subject_kind, subject_id, window_start, id, used_units, reserved_units, ${alerts}
    FROM ${counterTable(isRate)}
    WHERE organisation_id = ${organisationId}
      AND (subject_kind, subject_id, window_start, id) IN (${places})
    ORDER BY subject_kind, subject_id, window_start, id FOR UPDATE`.execute(tx);
  return new Map(
    rows.map((row) => {
      const state = {
        ...(row as LockedCounter),
        used_units: Number(row.used_units),
        reserved_units: Number(row.reserved_units),
        threshold_alert_units: numberOrNull(row.threshold_alert_units),
        exhausted_alert_units: numberOrNull(row.exhausted_alert_units),
        refused_units: numberOrNull(row.refused_units),
        refused_limit_units: numberOrNull(row.refused_limit_units),
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
          ${alerts.exhausted ?? state.exhausted_alert_units},
          ${outcome.refused?.units ?? null}, ${outcome.refused?.limitUnits ?? null}`;
    return sql`(${organisationId}, ${subjectKind}, ${subjectId}, ${windowStart}, ${id}, ${valueKey},
      ${outcome.usedUnits}, ${outcome.reservedUnits}, ${isShort ? serverNowMs : null}${rest})`;
  });
  const more = isRate ? ['ends_at'] : budgetColumns;
  const columns = ['used_units', 'reserved_units', 'wanted_at', ...(isRate ? [] : budgetColumns)];
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
    const { leaseMs, totalUnits = null } = move;
    const until = leaseMs === null ? null : sql`${serverNowMs} + ${leaseMs}`;
    if (units > 0)
      written.push(
        sql`(${organisationId}, ${holder}, ${place}, ${units}, ${answeredAt}, ${until}, ${totalUnits})`,
      );
    else if (move.units > 0) ended.push(sql`(${place})`);
  }
  if (written.length > 0)
    await sql`
      INSERT INTO usage_slices (organisation_id, holder, is_rate, subject_kind, subject_id,
        window_start, counter_id, units, answered_at, lease_until, total_units)
      VALUES ${sql.join(written)} ON DUPLICATE KEY UPDATE units = VALUES(units),
        lease_until = VALUES(lease_until), total_units = VALUES(total_units), charged_at = NULL,
        answered_at = COALESCE(VALUES(answered_at), answered_at)`.execute(tx);
  if (ended.length > 0)
    await sql`
      DELETE FROM usage_slices WHERE organisation_id = ${organisationId} AND holder = ${holder}
        AND (is_rate, subject_kind, subject_id, window_start, counter_id) IN (${sql.join(ended)})`.execute(
      tx,
    );
}

/** Counters by `counterKeyText` of which a holder has a slice that is not charged. */
export async function listHeld(tx: Db, { organisationId, holder }: Holder): Promise<string[]> {
  const where = { organisation_id: organisationId, holder, charged_at: null };
  const held = await table.list(tx, where);
  return held.map((row) => counterKeyText(counterKeyOfSlice(row)));
}

export function counterKeyOfSlice(row: StoredSlice): CounterKey {
  const { subject_kind: subjectKind, subject_id: subjectId, window_start: windowStart } = row;
  return { subjectKind, subjectId, windowStart, id: row.counter_id };
}
