/** Deletes the counters of ended windows after their retention, in batches. */
import * as rateCounters from '../store/usage/rate-counters.ts';
import * as usageWindows from '../store/usage/usage-windows.ts';
import type { Job, JobContext } from './runner/job.ts';

const retentionMs = 90 * 86_400_000;
/** Requests that were admitted in the window may still be settled during this time. */
const rateRetentionMs = 3_600_000;
const windowsMax = 100;
/** Small enough to delay a concurrent writer by less than 50 ms. */
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
        const ended = await usageWindows.listEndedBefore(db, now - retentionMs, windowsMax);
        if (ended.length === 0) break;
        // One transaction for each organisation, so that each stays on one shard.
        for (const windows of Map.groupBy(ended, (window) => window.organisation_id).values()) {
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

/** Deletes counters until none is left or the run must stop; windows are deleted after their last counter. */
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

/** Deletes the counters of windows in which no request can be settled any more. */
async function deleteRateCounters(context: JobContext): Promise<number> {
  const { db, transaction, now, signal } = context;
  const before = now - rateRetentionMs;
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
