/** Lists the jobs of a region, whose database has counters and logs only. */
import type { Settings } from '../../settings.ts';
import * as regionHolders from '../../store/regions/region-holders.ts';
import * as regionLoans from '../../store/regions/region-loans.ts';
import { chargeLostSlices } from '../charge-lost-slices.ts';
import { deleteOldLogs } from '../delete-old-logs.ts';
import type { Job } from '../runner/job.ts';

/** How long a counter is kept that was not used. */
const unusedMs = 7 * 86_400_000;
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
      'Deletes the counters of a region that were not used for a week, and that its home has counted',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      let counters = 0;
      for (const id of await regionHolders.listOrganisations(db)) {
        for (let deleted = loansMax; deleted >= loansMax && !signal.aborted; counters += deleted) {
          deleted = await transaction((tx) =>
            regionLoans.deleteSettledBefore(tx, id, now - unusedMs, loansMax),
          );
        }
      }
      return { counters };
    },
  };
}
