/** Knows how runs expire that have not ended within their ten minutes, whether anybody asks for them or not. */
import { settled } from '../objects/runs/run-ending.ts';
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
        // A transaction a run, which stays on one shard.
        for (const run of due) {
          if (signal.aborted) break;
          const { status } = await settled({ db, transaction }, run, now);
          if (status === 'expired') expired += 1;
        }
      }
      return { expired };
    },
  };
}
