/** Deletes expired sessions and sign-in links of users, and notes of MCP sessions. */
import { deleteOldRows } from './delete-due.ts';
import type { Job } from './runner/job.ts';

const sessions = { table: 'user_sessions', column: 'expires_at' } as const;
const links = { table: 'sign_in_links', column: 'expires_at' } as const;
const notes = { table: 'mcp_session_notes', column: 'expires_at' } as const;

export function deleteEndedSessions(): Job {
  return {
    name: 'delete-ended-sessions',
    cron: '*/10 * * * *',
    summary: 'Deletes expired sessions and sign-in links of users, and notes of MCP sessions',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const before = context.now + 1;
      const [deleted, deletedLinks, deletedNotes] = [
        await deleteOldRows(context, sessions, before),
        await deleteOldRows(context, links, before),
        await deleteOldRows(context, notes, before),
      ];
      return { deleted, links: deletedLinks, notes: deletedNotes };
    },
  };
}
