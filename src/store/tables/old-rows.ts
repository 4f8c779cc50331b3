/** Knows how rows of an organisation that are from before a moment are deleted, a few at a time. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/** A table whose keys begin with the organisation and this column, in milliseconds since the epoch. */
export type Aged =
  | { readonly table: 'request_logs'; readonly column: 'ended_at' }
  | { readonly table: 'request_totals'; readonly column: 'began_at' };

/** As {@link Aged}, of a table whose rows go by another rule. */
type Dated = Aged | { readonly table: 'audit_log'; readonly column: 'at' };

/** Deletes up to `limit`, oldest first, and yields how many those were. */
export async function deleteBefore(
  tx: Db,
  { table, column }: Aged,
  organisationId: string,
  before: number,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom(table)
    .where('organisation_id', '=', organisationId)
    .where(sql.ref(column), '<', before)
    .orderBy(sql.ref(column))
    .limit(limit)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function hasBefore(
  db: Db,
  { table, column }: Dated,
  organisationId: string,
  before: number,
): Promise<boolean> {
  const found = await db
    .selectFrom(table)
    .select('organisation_id')
    .where('organisation_id', '=', organisationId)
    .where(sql.ref(column), '<', before)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
