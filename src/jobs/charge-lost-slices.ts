/** Knows what becomes of the parts of budgets that a process held when it died: they count as used. */
import * as usageHolders from '../store/usage/usage-holders.ts';
import * as usageSlices from '../store/usage/usage-slices.ts';
import type { Job } from './runner/job.ts';

const holdersMax = 100;

export function chargeLostSlices(): Job {
  return {
    name: 'charge-lost-slices',
    cron: '* * * * *',
    summary: 'Charges what processes that are gone had reserved of budgets and rate limits',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, signal }) => {
      const total = { holders: 0, slices: 0 };
      while (!signal.aborted) {
        const overdue = await usageHolders.listOverdue(db, holdersMax);
        for (const holder of overdue) {
          if (signal.aborted) break;
          const slices = await transaction(async (tx) => {
            // It may have come back meanwhile.
            if (!(await usageHolders.lockOverdue(tx, holder))) return null;
            const charged = await usageSlices.chargeAll(tx, holder);
            await usageHolders.deleteOne(tx, holder);
            return charged;
          });
          if (slices === null) continue;
          total.holders += 1;
          total.slices += slices;
        }
        if (overdue.length < holdersMax) break;
      }
      return total;
    },
  };
}
