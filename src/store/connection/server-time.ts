/** The time of the database server, on which all replicas agree regardless of their own clocks. */
import { sql } from 'kysely';
import type { Db } from './db.ts';

/** SQL expression: milliseconds since the epoch. */
export const serverNowMs = sql<number>`TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000`;

/** Reads the time of the writer in milliseconds since the epoch. */
export async function readServerTime(db: Db): Promise<number> {
  const { rows } = await sql<{
    milliseconds: number;
  }>`SELECT ${serverNowMs} AS milliseconds`.execute(db);
  return rows[0]!.milliseconds;
}
