/** Defines where log rows are stored, and stores them in the database. */
import { startOfTotalsStep } from '../../model/logs/request-log.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import { lossOf, writeBatch } from '../../store/logs/logged-requests.ts';
import type { WrittenRow } from '../../store/logs/request-logs.ts';
import * as unsentTotals from '../../store/regions/unsent-totals.ts';
import type { LostRequests } from './lost-requests.ts';

/** Rows and counts of lost requests of one organisation. */
export interface LogContents {
  readonly rows: readonly WrittenRow[];
  readonly lost: readonly LostRequests[];
}

export interface LogSink {
  /**
   * Stores everything or nothing. With `isRepeated` it may be there already, and is not stored twice.
   *
   * @throws like the database: an unreachable one is tried again, and what it rejects is left out
   */
  write(contents: LogContents, isRepeated: boolean): Promise<void>;
}

/**
 * A row that is repeated after the retention of logs may have been written and deleted. It is counted as unlogged, under
 * its own id, so that no totals are counted twice. `retainedFromMs` returns the start of the retention; null for none.
 */
export function databaseLogSink(
  database: Pick<Database, 'transaction'>,
  retainedFromMs: () => number | null = () => null,
): LogSink {
  const sink = sinkOf(database, () => undefined);
  return {
    write: ({ rows, lost }, isRepeated) => {
      const fromMs = (isRepeated ? retainedFromMs() : null) ?? Number.NEGATIVE_INFINITY;
      const recent = rows.filter(({ row }) => row.ended_at >= fromMs);
      const old = rows.filter(({ row }) => row.ended_at < fromMs);
      return sink.write({ rows: recent, lost: [...lost, ...old.map(lostRow)] }, isRepeated);
    },
  };
}

function lostRow({ row: { organisation_id, ended_at, id } }: WrittenRow): LostRequests {
  const hour = startOfTotalsStep(ended_at);
  return { organisationId: organisation_id, hour, requests: 1, id };
}

/** Stores log rows in the database of a region, and notes which totals its home does not have yet. */
export function regionLogSink(database: Pick<Database, 'transaction'>): LogSink {
  return sinkOf(database, (tx) => (totals) => unsentTotals.note(tx, totals));
}

function sinkOf(
  database: Pick<Database, 'transaction'>,
  onTotalsIn: (tx: Db) => Parameters<typeof writeBatch>[3],
): LogSink {
  return {
    write: ({ rows, lost }, isRepeated) => {
      const losses = lost.map(({ organisationId, hour, requests, id }) =>
        lossOf(organisationId, hour, requests, id),
      );
      const batch = { rows, losses };
      return database.transaction((tx) => writeBatch(tx, batch, isRepeated, onTotalsIn(tx)));
    },
  };
}
