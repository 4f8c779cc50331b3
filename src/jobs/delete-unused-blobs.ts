/** Knows how bytes go that nobody keeps: of deleted files, and of writings that a process did not finish. */
import type { KeptBlobs } from '../store/kept-blobs.ts';
import { type Job, PartialRun } from './runner/job.ts';

export function deleteUnusedBlobs(blobs: Pick<KeptBlobs, 'sweep'>): Job {
  return {
    name: 'delete-unused-blobs',
    cron: '*/10 * * * *',
    summary:
      'Erases what deleted files have left in the database, the folder or the bucket, and uploads that were cut off',
    feature: null,
    idleBecause: null,
    run: async ({ signal }) => {
      const { deleted, failed } = await blobs.sweep(signal);
      if (failed === 0) return { deleted };
      const message = `${failed} could not be erased where they are kept; they are tried again`;
      throw new PartialRun(message, { deleted, failed });
    },
  };
}
