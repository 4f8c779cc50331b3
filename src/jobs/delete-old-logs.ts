/** Knows how long requests for models are kept in the log and in its totals, and how they go: by the day, or a few at a time. */
import type { Settings } from '../settings.ts';
import { isDenied } from '../store/connection/denied.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import * as oldRows from '../store/rows/old-rows.ts';
import * as organisations from '../store/resources/organisations.ts';
import * as requestLogs from '../store/logs/request-logs.ts';
import type { Job, JobContext } from './runner/job.ts';

const dayMs = 86_400_000;
/** Partitions are made for days to come, so that none has to be cut that holds rows. */
const daysAhead = 7;
const batchRowsMax = 1_000;

export function deleteOldLogs({
  logDays,
  totalsDays,
}: Pick<Settings['inference']['retention'], 'logDays' | 'totalsDays'>): Job {
  return {
    name: 'delete-old-logs',
    cron: '7 * * * *',
    summary: 'Deletes requests from the log and its totals once they are older than is kept',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const logsBefore = startOfKept(context.now, logDays);
      const totalsBefore = startOfKept(context.now, totalsDays);
      const partitions = await changePartitions(context, logsBefore);
      return {
        partitions,
        logs: await deleteRows(context, { table: 'request_logs', column: 'ended_at' }, logsBefore),
        feedback: await deleteRows(
          context,
          { table: 'feedback', column: 'created_at' },
          logsBefore,
        ),
        totals: await deleteRows(
          context,
          { table: 'request_totals', column: 'began_at' },
          totalsBefore,
        ),
      };
    },
  };
}

/** The first moment of the first day that is kept; null where all are. */
function startOfKept(now: number, days: number | null): number | null {
  return days === null ? null : startOfDay(now - days * dayMs);
}

function startOfDay(ms: number): number {
  return ms - (ms % dayMs);
}

/** Drops whole days; the number of them. What an engine or its rights do not allow is left to {@link deleteRows}. */
async function changePartitions(
  { db, now, log }: JobContext,
  before: number | null,
): Promise<number> {
  try {
    const known = await requestLogs.listPartitions(db);
    const last = known.at(-1);
    if (last === undefined || last.endsAt !== null) return 0;
    const ends = endsToCome(now, known.at(-2)?.endsAt ?? null);
    if (ends.length > 0) await requestLogs.cutLastPartition(db, last.name, ends);
    const old = known.filter(
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
    const message = 'the log of requests is not cut into days; its rows are deleted one by one';
    // A user who may read and write rows and nothing else is as it should be.
    if (isDenied(error)) log.info(message);
    else log.warn({ err: error }, message);
    return 0;
  }
}

/** Ends of the days from the one that `now` lies in; those that have one already left out. */
function endsToCome(now: number, known: number | null): number[] {
  const today = startOfDay(now);
  const ends = Array.from({ length: daysAhead + 1 }, (_, day) => today + (day + 1) * dayMs);
  return ends.filter((end) => known === null || end > known);
}

async function deleteRows(
  { db, transaction, signal }: JobContext,
  aged: oldRows.Aged,
  before: number | null,
): Promise<number> {
  if (before === null) return 0;
  let total = 0;
  for (const id of await organisations.listIds(db)) {
    while (!signal.aborted && (await oldRows.hasBefore(db, aged, id, before))) {
      total += await transaction((tx) => oldRows.deleteBefore(tx, aged, id, before, batchRowsMax));
    }
  }
  return total;
}
