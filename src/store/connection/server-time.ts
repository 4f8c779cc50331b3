/** Knows the time of the database server, by which all replicas agree whatever their own clocks say. */
import { sql } from 'kysely';
import type { Db } from './db.ts';

/** Milliseconds since the Unix epoch, as part of a statement. */
export const serverNowMs = sql<number>`TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000`;

/** Milliseconds since the Unix epoch, by the server that takes the writes. */
export async function readServerTime(db: Db): Promise<number> {
  const { rows } = await sql<{
    milliseconds: number;
  }>`SELECT ${serverNowMs} AS milliseconds`.execute(db);
  return rows[0]!.milliseconds;
}
