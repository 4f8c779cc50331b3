/** Deletes expired sessions of users, and notes of MCP sessions. */
import { deleteBefore, listOrganisationsBefore } from '../store/rows/old-rows.ts';
import { deleteDue } from './delete-due.ts';
import type { Job, JobContext } from './runner/job.ts';

const batchRowsMax = 1000;
const sessions = { table: 'user_sessions', column: 'expires_at' } as const;
const notes = { table: 'mcp_session_notes', column: 'expires_at' } as const;

export function deleteEndedSessions(): Job {
  return {
    name: 'delete-ended-sessions',
    cron: '*/10 * * * *',
    summary: 'Deletes expired sessions of users, and notes of MCP sessions',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const before = context.now + 1;
      const [deleted, deletedNotes] = [
        await deleteExpired(context, sessions, before),
        await deleteExpired(context, notes, before),
      ];
      return { deleted, notes: deletedNotes };
    },
  };
}

function deleteExpired(
  context: JobContext,
  aged: typeof sessions | typeof notes,
  before: number,
): Promise<number> {
  return deleteDue(context, {
    listOrganisations: (db) => listOrganisationsBefore(db, aged, before, batchRowsMax),
    deleteSome: (tx, organisationId) =>
      deleteBefore(tx, aged, organisationId, before, batchRowsMax),
  });
}
