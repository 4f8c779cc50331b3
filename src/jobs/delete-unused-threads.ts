/** Deletes threads that were not used during their retention. */
import type { Settings } from '../settings.ts';
import * as threads from '../store/objects/threads.ts';
import type { Job } from './runner/job.ts';

const listedMax = 100;
const dayMs = 86_400_000;

export function deleteUnusedThreads({
  threadDays,
}: Pick<Settings['inference']['retention'], 'threadDays'>): Job {
  return {
    name: 'delete-unused-threads',
    cron: '47 * * * *',
    summary:
      'Deletes threads with their messages and runs when they were not used during their retention',
    feature: null,
    idleBecause: null,
    run: async ({ db, transaction, now, signal }) => {
      const before = now - threadDays * dayMs;
      let deleted = 0;
      while (!signal.aborted) {
        const due = await threads.listUnused(db, before, listedMax);
        if (due.length === 0) break;
        for (const thread of due) {
          if (signal.aborted) break;
          const isDeleted = await transaction((tx) => threads.deleteById(tx, thread, before));
          if (isDeleted) deleted += 1;
        }
      }
      return { deleted };
    },
  };
}
