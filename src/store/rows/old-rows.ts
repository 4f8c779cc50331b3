/** Knows how rows of an organisation that are from before a moment are deleted, a few at a time. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/** A table whose rows are known by the organisation and this column, in milliseconds since the epoch. */
export type Aged =
  | { readonly table: 'request_logs'; readonly column: 'ended_at' }
  | { readonly table: 'request_totals'; readonly column: 'began_at' }
  | { readonly table: 'feedback'; readonly column: 'created_at' }
  | { readonly table: 'idempotency_keys'; readonly column: 'created_at' }
  | { readonly table: 'user_sessions'; readonly column: 'expires_at' };

/** A table whose rows are found by this column in all organisations at once, and have an id. */
type Told =
  | { readonly table: 'responses'; readonly column: 'created_at' }
  | { readonly table: 'files'; readonly column: 'expires_at' };

/** The same, whether they have an id or not. */
type Shared =
  | Told
  | { readonly table: 'idempotency_keys'; readonly column: 'created_at' }
  | { readonly table: 'user_sessions'; readonly column: 'expires_at' };

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

/** Organisations that have any, those of the oldest `limit` rows. */
export async function listOrganisationsBefore(
  db: Db,
  { table, column }: Shared,
  before: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom(table)
    .select('organisation_id')
    .where(sql.ref(column), '<', before)
    .orderBy(sql.ref(column))
    .limit(limit)
    .execute();
  return [...new Set(rows.map((row) => row.organisation_id))];
}

/** Ids of an organisation's oldest `limit`. */
export async function listIdsBefore(
  db: Db,
  { table, column }: Told,
  organisationId: string,
  before: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom(table)
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where(sql.ref(column), '<', before)
    .orderBy(sql.ref(column))
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}
