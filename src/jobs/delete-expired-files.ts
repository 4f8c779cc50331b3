/** Deletes files whose `expires_after` has passed. */
import * as blobs from '../store/objects/blobs.ts';
import * as files from '../store/objects/files.ts';
import { listOrganisationsBefore } from '../store/rows/old-rows.ts';
import { deleteDue } from './delete-due.ts';
import type { Job } from './runner/job.ts';

/** Each file may have 20,000 chunks in vector stores. */
const batchFilesMax = 10;
const scannedRowsMax = 1_000;

export function deleteExpiredFiles(): Job {
  return {
    name: 'delete-expired-files',
    cron: '*/10 * * * *',
    summary: 'Deletes files of callers whose expires_after has passed',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { now } = context;
      // A file that expires at this moment has expired.
      const before = now + 1;
      const deleted = await deleteDue(context, {
        listOrganisations: (db) => listOrganisationsBefore(db, files.aged, before, scannedRowsMax),
        deleteSome: async (tx, organisationId) => {
          const ids = await files.deleteExpired(tx, organisationId, before, batchFilesMax);
          await blobs.markDeleted(tx, organisationId, ids, now);
          return ids.length;
        },
      });
      return { deleted };
    },
  };
}
