/** Knows how responses are deleted that the gateway has kept for long enough. */
import type { Settings } from '../settings.ts';
import * as responses from '../store/tables/responses.ts';
import type { Job } from './job.ts';

/** Rows may be large. */
const batchRowsMax = 100;
const dayMs = 86_400_000;

export function deleteOldResponses({
  responseDays,
}: Pick<Settings['inference']['retention'], 'responseDays'>): Job {
  return {
    name: 'delete-old-responses',
    cron: '27 * * * *',
    summary:
      'Deletes responses that the gateway keeps for callers once they are older than is kept',
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      const before = now - responseDays * dayMs;
      let deleted = 0;
      while (!signal.aborted) {
        const due = await responses.listOrganisationsOlderThan(db, before, batchRowsMax);
        if (due.length === 0) break;
        // A transaction an organisation, so that each stays on one shard.
        for (const organisationId of due) {
          deleted += await transaction((tx) =>
            responses.deleteOlderThan(tx, organisationId, before, batchRowsMax),
          );
        }
      }
      return { deleted };
    },
  };
}
