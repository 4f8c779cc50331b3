/** Deletes expired sessions of users. */
import { deleteBefore, listOrganisationsBefore } from '../store/rows/old-rows.ts';
import { deleteDue } from './delete-due.ts';
import type { Job } from './runner/job.ts';

const batchRowsMax = 1000;
const aged = { table: 'user_sessions', column: 'expires_at' } as const;

export function deleteEndedSessions(): Job {
  return {
    name: 'delete-ended-sessions',
    cron: '*/10 * * * *',
    summary: 'Deletes expired sessions of users',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const before = context.now + 1;
      const deleted = await deleteDue(context, {
        listOrganisations: (db) => listOrganisationsBefore(db, aged, before, batchRowsMax),
        deleteSome: (tx, organisationId) =>
          deleteBefore(tx, aged, organisationId, before, batchRowsMax),
      });
      return { deleted };
    },
  };
}
