/** Knows how answers kept for repeated requests are deleted once they are too old to be asked for. */
import { answersKeptMs } from '../model/idempotency.ts';
import * as idempotencyKeys from '../store/tables/idempotency-keys.ts';
import type { Job } from './job.ts';

const batchRowsMax = 1000;

export function deleteOldAnswers(): Job {
  return {
    name: 'delete-old-answers',
    cron: '*/10 * * * *',
    summary: 'Deletes what was answered under an Idempotency-Key more than 24 hours ago',
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      const before = now - answersKeptMs;
      let deleted = 0;
      while (!signal.aborted) {
        const due = await idempotencyKeys.listOrganisationsOlderThan(db, before, batchRowsMax);
        if (due.length === 0) break;
        // A transaction an organisation, so that each stays on one shard.
        for (const organisationId of due) {
          deleted += await transaction((tx) =>
            idempotencyKeys.deleteOlderThan(tx, organisationId, before, batchRowsMax),
          );
        }
      }
      return { deleted };
    },
  };
}
