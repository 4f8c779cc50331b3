/** Deletes threads that were not used during their retention. */
import type { Settings } from '../settings.ts';
import * as threads from '../store/objects/threads.ts';
import { deleteUnused } from './delete-unused.ts';
import type { Job } from './runner/job.ts';

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
    run: async (context) => {
      const since = context.now - threadDays * dayMs;
      const objects = { list: threads.listUnused, delete: threads.deleteById };
      return { deleted: await deleteUnused(context, since, objects) };
    },
  };
}
