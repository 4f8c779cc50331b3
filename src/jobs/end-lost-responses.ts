/** Knows how responses end whose gateway was stopped in the middle, whether anybody asks for them or not. */
import { endLost } from '../objects/responses/lost-response.ts';
import * as responses from '../store/objects/responses.ts';
import type { Job } from './runner/job.ts';

/** Records may be large. */
const batchRowsMax = 20;

export function endLostResponses(): Job {
  return {
    name: 'end-lost-responses',
    cron: '* * * * *',
    summary: 'Marks responses that the gateway keeps as failed whose own gateway is gone',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      let failed = 0;
      while (!signal.aborted) {
        const due = await responses.listLost(db, now, batchRowsMax);
        const before = failed;
        // A transaction a response, which stays on one shard.
        for (const row of due) {
          if (signal.aborted) break;
          if (await transaction((tx) => endLost(tx, row, now))) failed += 1;
        }
        if (failed === before) break;
      }
      return { failed };
    },
  };
}
