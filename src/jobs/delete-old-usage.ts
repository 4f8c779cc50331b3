/** Knows how long the counters of a window are kept after its end, and how they go: a few at a time. */
import * as rateCounters from '../store/usage/rate-counters.ts';
import * as usageWindows from '../store/usage/usage-windows.ts';
import type { Job, JobContext } from './runner/job.ts';

const keptMs = 90 * 86_400_000;
/** As long as anybody may still settle what was admitted in the window. */
const rateKeptMs = 3_600_000;
const windowsMax = 100;
/** Small enough to stall a concurrent writer for less than a twentieth of a second. */
const countersMax = 1_000;

export function deleteOldUsage(): Job {
  return {
    name: 'delete-old-usage',
    cron: '17 * * * *',
    summary:
      'Deletes the counters of budgets 90 days after their window ended, and of rate limits an hour after',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { db, transaction, now, signal } = context;
      const total = { windows: 0, counters: 0, rateCounters: 0 };

      while (!signal.aborted) {
        const ended = await usageWindows.listEndedBefore(db, now - keptMs, windowsMax);
        if (ended.length === 0) break;
        // A transaction an organisation, so that each stays on one shard.
        for (const windows of Map.groupBy(ended, (one) => one.organisation_id).values()) {
          total.counters += await deleteCounters(context, windows);
          if (signal.aborted) break;
          await transaction((tx) => usageWindows.deleteMany(tx, windows));
          total.windows += windows.length;
        }
      }
      total.rateCounters = await deleteRateCounters(context);
      return total;
    },
  };
}

/** All of them, or those until the run is to stop; their windows are deleted only when none is left. */
async function deleteCounters(
  { transaction, signal }: JobContext,
  windows: readonly usageWindows.EndedWindow[],
): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const deleted = await transaction((tx) =>
      usageWindows.deleteCounters(tx, windows, countersMax),
    );
    total += deleted;
    if (deleted < countersMax) break;
  }
  return total;
}

/** Those of windows that nobody settles in any more. */
async function deleteRateCounters(context: JobContext): Promise<number> {
  const { db, transaction, now, signal } = context;
  const before = now - rateKeptMs;
  let total = 0;
  while (!signal.aborted) {
    const due = await rateCounters.listOrganisationsEndedBefore(db, before, countersMax);
    if (due.length === 0) break;
    for (const organisationId of due) {
      total += await transaction((tx) =>
        rateCounters.deleteEndedBefore(tx, organisationId, before, countersMax),
      );
    }
  }
  return total;
}
