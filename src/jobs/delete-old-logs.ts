/** Deletes requests from the log and its totals after their retention, by daily partitions or in batches. */
import { startOfDay } from '../model/limits/periods.ts';
import { startOfRetention } from '../model/logs/log-retention.ts';
import type { Settings } from '../settings.ts';
import type { Db } from '../store/connection/db.ts';
import { isDenied } from '../store/connection/denied.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import * as requestLogs from '../store/logs/request-logs.ts';
import * as organisations from '../store/resources/organisations.ts';
import * as oldRows from '../store/rows/old-rows.ts';
import type { Job, JobContext } from './runner/job.ts';

const dayMs = 86_400_000;
/** Partitions are created ahead, so that no partition with rows has to be split. */
const daysAhead = 7;
const batchRowsMax = 1_000;
/** A live log asks for batches of the last seconds. */
const batchesMs = 3_600_000;

/** @param listOrganisations ids of the organisations that may have rows; by default of all that exist */
export function deleteOldLogs(
  { logDays, totalsDays }: Pick<Settings['inference']['retention'], 'logDays' | 'totalsDays'>,
  listOrganisations: (db: Db) => Promise<readonly string[]> = organisations.listIds,
): Job {
  return {
    name: 'delete-old-logs',
    cron: '7 * * * *',
    summary: 'Deletes requests from the log and its totals after their retention',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const logsBefore = startOfRetention(context.now, logDays);
      const totalsBefore = startOfRetention(context.now, totalsDays);
      const partitions = await changePartitions(context, logsBefore);
      const ids = await listOrganisations(context.db);
      const deleteAged = (aged: oldRows.AgedTable, before: number | null) =>
        deleteRows(context, ids, aged, before);
      return {
        partitions,
        logs: await deleteAged({ table: 'request_logs', column: 'ended_at' }, logsBefore),
        feedback: await deleteAged({ table: 'feedback', column: 'created_at' }, logsBefore),
        batches: await deleteAged(
          { table: 'request_log_batches', column: 'stored_at' },
          context.now - batchesMs,
        ),
        totals: await deleteAged({ table: 'request_totals', column: 'began_at' }, totalsBefore),
      };
    },
  };
}

/** Drops whole days and returns their number. {@link deleteRows} takes over when the engine or the rights do not allow it. */
async function changePartitions(
  { db, now, log }: JobContext,
  before: number | null,
): Promise<number> {
  try {
    const partitions = await requestLogs.listPartitions(db);
    const last = partitions.at(-1);
    if (last === undefined || last.endsAt !== null) return 0;
    const ends = missingDayEnds(now, partitions.at(-2)?.endsAt ?? null);
    if (ends.length > 0) await requestLogs.cutLastPartition(db, last.name, ends);
    const old = partitions.filter(
      ({ endsAt }) => before !== null && endsAt !== null && endsAt <= before,
    );
    if (old.length > 0)
      await requestLogs.dropPartitions(
        db,
        old.map(({ name }) => name),
      );
    return old.length;
  } catch (error) {
    if (isUnavailable(error)) throw error;
    const message = 'the request log cannot be partitioned by day; its rows are deleted in batches';
    // A database user without DDL rights is a recommended setup.
    if (isDenied(error)) log.info(message);
    else log.warn({ err: error }, message);
    return 0;
  }
}

/** Ends of the days from today on that have no partition yet. */
function missingDayEnds(now: number, lastEnd: number | null): number[] {
  const today = startOfDay(now);
  const ends = Array.from({ length: daysAhead + 1 }, (_, day) => today + (day + 1) * dayMs);
  return ends.filter((end) => lastEnd === null || end > lastEnd);
}

async function deleteRows(
  { db, transaction, signal }: JobContext,
  ids: readonly string[],
  aged: oldRows.AgedTable,
  before: number | null,
): Promise<number> {
  if (before === null) return 0;
  let total = 0;
  for (const id of ids) {
    while (!signal.aborted && (await oldRows.hasBefore(db, aged, id, before))) {
      total += await transaction((tx) => oldRows.deleteBefore(tx, aged, id, before, batchRowsMax));
    }
  }
  return total;
}
