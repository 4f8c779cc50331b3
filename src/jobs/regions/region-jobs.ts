/** Lists the jobs of a region, whose database has counters and logs only. */
import type { Settings } from '../../settings.ts';
import * as regionHolders from '../../store/regions/region-holders.ts';
import * as regionLoans from '../../store/regions/region-loans.ts';
import { chargeLostSlices } from '../charge-lost-slices.ts';
import { deleteOldLogs } from '../delete-old-logs.ts';
import type { Job } from '../runner/job.ts';

/** How long the counter of a budget is kept that was not used. */
const unusedMs = 7 * 86_400_000;
/** Requests that were admitted in the window of a rate limit may still be settled during this time. */
const endedMs = 3_600_000;
const loansMax = 1_000;

export function regionJobs(retention: Settings['inference']['retention']): Job[] {
  return [
    chargeLostSlices(),
    deleteOldLogs(retention, regionHolders.listOrganisations),
    deleteSettledLoans(),
  ];
}

function deleteSettledLoans(): Job {
  return {
    name: 'delete-settled-loans',
    cron: '17 * * * *',
    summary:
      'Deletes counters of a region that its home has counted: of budgets unused for a week, of rate limits after an hour',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      const ages = { unusedBefore: now - unusedMs, endedBefore: now - endedMs };
      let counters = 0;
      for (const id of await regionHolders.listOrganisations(db)) {
        for (let deleted = 1; deleted > 0 && !signal.aborted; counters += deleted)
          deleted = await transaction((tx) => regionLoans.deleteSettled(tx, id, ages, loansMax));
      }
      return { counters };
    },
  };
}
