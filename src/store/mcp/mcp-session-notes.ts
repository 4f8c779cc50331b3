/** Table functions for mcp_session_notes: what an MCP session leaves for other replicas. Callers seal values. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface McpSessionNoteRow {
  organisation_id: string;
  session_id: string;
  name: string;
  api_key_id: string;
  value: string;
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_session_notes: McpSessionNoteRow;
  }
}

export type StoredSessionNote = Selectable<McpSessionNoteRow>;

const table = rows('mcp_session_notes');

/** Notes of all sessions of one key. */
const keyNotesMax = 10_000;

/** Adds or replaces a note; false when the key has too many. */
export async function put(db: Db, row: StoredSessionNote): Promise<boolean> {
  const { organisation_id: organisationId, session_id, name, api_key_id, value, expires_at } = row;
  const { numAffectedRows } = await sql`
    INSERT INTO mcp_session_notes
      (organisation_id, session_id, name, api_key_id, value, expires_at)
    SELECT ${organisationId}, ${session_id}, ${name}, ${api_key_id}, ${value}, ${expires_at}
    FROM DUAL
    WHERE (
      SELECT COUNT(*) FROM mcp_session_notes
      WHERE organisation_id = ${organisationId} AND api_key_id = ${api_key_id}
    ) < ${keyNotesMax}
    ON DUPLICATE KEY UPDATE value = ${value}, expires_at = ${expires_at}`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export function listOfSessions(
  db: Db,
  organisationId: string,
  sessionIds: readonly string[],
): Promise<StoredSessionNote[]> {
  if (sessionIds.length === 0) return Promise.resolve([]);
  return table.list(db, { organisation_id: organisationId, session_id: [...sessionIds] });
}

/** Without names: all notes of the session. */
export async function remove(
  db: Db,
  organisationId: string,
  sessionId: string,
  names?: readonly string[],
): Promise<void> {
  const where = { organisation_id: organisationId, session_id: sessionId };
  await table.delete(db, names === undefined ? where : { ...where, name: [...names] });
}
