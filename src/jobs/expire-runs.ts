/** Expires runs of assistants that have not ended within ten minutes. */
import { expireIfOver } from '../objects/runs/move-run.ts';
import * as runs from '../store/objects/runs.ts';
import type { Job } from './runner/job.ts';

const batchRowsMax = 250;

export function expireRuns(): Job {
  return {
    name: 'expire-runs',
    cron: '* * * * *',
    summary: 'Marks runs of assistants as expired that have not ended after ten minutes',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      let expired = 0;
      while (!signal.aborted) {
        const due = await runs.listExpired(db, now, batchRowsMax);
        if (due.length === 0) break;
        // One transaction for each run, which stays on one shard.
        for (const run of due) {
          if (signal.aborted) break;
          const { status } = await expireIfOver({ db, transaction }, run, now);
          if (status === 'expired') expired += 1;
        }
      }
      return { expired };
    },
  };
}
