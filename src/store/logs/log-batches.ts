/** Table functions for request_log_batches: when transactions have stored rows of the log, and which times they are of. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';

interface LogBatchRow {
  organisation_id: string;
  /** By the database's clock shortly before the commit, milliseconds since the epoch. */
  stored_at: number;
  id: Buffer;
  /** The first and the last end among the rows. */
  first_ended_at: number;
  last_ended_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    request_log_batches: LogBatchRow;
  }
}

/** Call it last in the transaction, so that the row is visible soon after its time. */
export async function insert(tx: Db, row: Omit<LogBatchRow, 'stored_at'>): Promise<void> {
  await tx
    .insertInto('request_log_batches')
    .values({ ...row, stored_at: serverNowMs })
    .execute();
}

const usualMs = 60_000;

/** Up to `limit` batches that were stored since a time, by default in the last minute; the first stored first. */
export function listSince(
  db: Db,
  organisationId: string,
  since: number | null,
  limit: number,
): Promise<LogBatchRow[]> {
  return db
    .selectFrom('request_log_batches')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('stored_at', '>=', since ?? sql<number>`${serverNowMs} - ${usualMs}`)
    .orderBy('stored_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}
