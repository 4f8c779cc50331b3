/** Marks background responses as failed whose gateway process has died. */
import { failLostResponse } from '../objects/responses/lost-response.ts';
import * as responses from '../store/objects/responses.ts';
import type { Job } from './runner/job.ts';

/** Records may be large. */
const batchRowsMax = 20;

export function endLostResponses(): Job {
  return {
    name: 'end-lost-responses',
    cron: '* * * * *',
    summary: 'Marks stored responses as failed whose gateway process has died',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      let failed = 0;
      while (!signal.aborted) {
        const due = await responses.listLost(db, now, batchRowsMax);
        const before = failed;
        // One transaction for each response, which stays on one shard.
        for (const row of due) {
          if (signal.aborted) break;
          if (await transaction((tx) => failLostResponse(tx, row, now))) failed += 1;
        }
        if (failed === before) break;
      }
      return { failed };
    },
  };
}
