/** Deletes blobs without an owner: those of deleted files and of interrupted uploads. */
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { type Job, PartialRun } from './runner/job.ts';

export function deleteUnusedBlobs(blobs: Pick<StoredBlobs, 'sweep'>): Job {
  return {
    name: 'delete-unused-blobs',
    cron: '*/10 * * * *',
    summary:
      'Erases the contents of deleted files and of interrupted uploads in the database, the folder or the bucket',
    feature: null,
    idleBecause: null,
    run: async ({ signal }) => {
      const { deleted, failed } = await blobs.sweep(signal);
      if (failed === 0) return { deleted };
      const message = `${failed} blobs could not be erased; they are tried again`;
      throw new PartialRun(message, { deleted, failed });
    },
  };
}
