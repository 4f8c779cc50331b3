/** Charges the slices of budgets that a process held when it died, as if they were used. */
import * as sliceCharges from '../store/usage/slice-charges.ts';
import * as usageHolders from '../store/usage/usage-holders.ts';
import type { Job } from './runner/job.ts';

const holdersMax = 100;

export function chargeLostSlices(): Job {
  return {
    name: 'charge-lost-slices',
    cron: '* * * * *',
    summary: 'Charges the budgets and rate limits for what dead processes had reserved',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, signal }) => {
      const total = { holders: 0, slices: 0 };
      while (!signal.aborted) {
        const overdue = await usageHolders.listOverdue(db, holdersMax);
        for (const holder of overdue) {
          if (signal.aborted) break;
          const slices = await transaction(async (tx) => {
            // The process may have resumed meanwhile.
            const overdue = await usageHolders.lockOverdue(tx, holder);
            if (overdue === null) return null;
            const { isJournalled } = overdue;
            const charged = await sliceCharges.chargeOverdue(tx, holder, isJournalled);
            const isDone = !isJournalled && !(await sliceCharges.hasUncharged(tx, holder));
            if (isDone) {
              await sliceCharges.deleteAll(tx, holder);
              await usageHolders.deleteOne(tx, holder);
            }
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
