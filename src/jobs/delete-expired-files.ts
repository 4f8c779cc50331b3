/** Knows how files go that callers wanted to be kept for a time only. */
import * as blobs from '../store/tables/blobs.ts';
import * as files from '../store/tables/files.ts';
import type { Job } from './job.ts';

/** Each may have 20,000 chunks in vector stores. */
const batchFilesMax = 10;
const lookedAtMax = 1_000;

export function deleteExpiredFiles(): Job {
  return {
    name: 'delete-expired-files',
    cron: '*/10 * * * *',
    summary: 'Deletes files of callers whose expires_after has passed',
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      let deleted = 0;
      while (!signal.aborted) {
        const due = await files.listOrganisationsExpired(db, now, lookedAtMax);
        if (due.length === 0) break;
        // A transaction an organisation, so that each stays on one shard.
        for (const organisationId of due) {
          deleted += await transaction(async (tx) => {
            const ids = await files.deleteExpired(tx, organisationId, now, batchFilesMax);
            await blobs.markDeleted(tx, organisationId, ids, now);
            return ids.length;
          });
        }
      }
      return { deleted };
    },
  };
}
