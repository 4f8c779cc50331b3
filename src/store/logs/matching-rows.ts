/** Lists rows of the log, or their metadata keys, by the conditions of sums. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { RequestLogRow } from './request-logs.ts';
import { type SumsQuery, sourceOf } from './request-sums.ts';

/** Log entries that match a query, newest first. */
export async function listMatchingRows(
  db: Db,
  organisationId: string,
  query: SumsQuery,
): Promise<RequestLogRow[]> {
  const { rows } = await sql<RequestLogRow>`
    SELECT * FROM ${sourceOf(organisationId, { ...query, usesLog: true })}
    ORDER BY ended_at DESC, id DESC LIMIT ${query.limit} OFFSET ${query.offset}`.execute(db);
  return rows;
}

/** Metadata keys of matching log entries, from up to `limit` distinct sets of keys. */
export async function listMetadataKeys(
  db: Db,
  organisationId: string,
  query: SumsQuery,
): Promise<string[]> {
  const { rows } = await sql<{ names: string }>`
    SELECT DISTINCT CAST(JSON_KEYS(metadata) AS CHAR) AS names
    FROM ${sourceOf(organisationId, { ...query, usesLog: true })}
    ORDER BY names LIMIT ${query.limit}`.execute(db);
  const sets = rows.map(({ names }): string[] => JSON.parse(names));
  return [...new Set(sets.flat())].sort();
}
