/** Table functions for mcp_answered_states: request states of MCP calls that a retry has answered. */
import type { Db } from '../connection/db.ts';

export interface McpAnsweredStateRow {
  organisation_id: string;
  id: string;
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_answered_states: McpAnsweredStateRow;
  }
}

/** Rows that one retry deletes after their time, so that no job is needed. */
const expiredMax = 10;

/** Returns whether this is the first retry that answers the state; deletes a few expired rows. */
export async function insertOnce(db: Db, row: McpAnsweredStateRow, now: number): Promise<boolean> {
  await db
    .deleteFrom('mcp_answered_states')
    .where('organisation_id', '=', row.organisation_id)
    .where('expires_at', '<', now)
    .orderBy('expires_at')
    .limit(expiredMax)
    .execute();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('mcp_answered_states')
    .ignore()
    .values(row)
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** The retry was not sent, so that another one may answer the state. */
export async function remove(db: Db, organisationId: string, id: string): Promise<void> {
  await db
    .deleteFrom('mcp_answered_states')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}
