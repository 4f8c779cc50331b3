/** Finds and deletes rows of an organisation older than a time, in batches. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/** A table with an index on organisation and this column, in milliseconds since the epoch. */
export type AgedTable =
  | { readonly table: 'request_logs'; readonly column: 'ended_at' }
  | { readonly table: 'request_totals'; readonly column: 'began_at' }
  | { readonly table: 'feedback'; readonly column: 'created_at' }
  | { readonly table: 'request_log_batches'; readonly column: 'stored_at' }
  | { readonly table: 'idempotency_keys'; readonly column: 'created_at' }
  | { readonly table: 'mcp_authorizations'; readonly column: 'expires_at' }
  | { readonly table: 'user_sessions'; readonly column: 'expires_at' }
  | { readonly table: 'sign_in_links'; readonly column: 'expires_at' }
  | { readonly table: 'mcp_session_notes'; readonly column: 'expires_at' }
  | { readonly table: 'semantic_answers'; readonly column: 'expires_at' };

/** A table with an id and an index on this column over all organisations. */
type AgedTableWithId =
  | { readonly table: 'responses'; readonly column: 'created_at' }
  | { readonly table: 'files'; readonly column: 'expires_at' };

/** A table with an index on this column over all organisations. */
export type GloballyAgedTable =
  | AgedTableWithId
  | { readonly table: 'idempotency_keys'; readonly column: 'created_at' }
  | { readonly table: 'user_sessions'; readonly column: 'expires_at' }
  | { readonly table: 'sign_in_links'; readonly column: 'expires_at' }
  | { readonly table: 'mcp_session_notes'; readonly column: 'expires_at' }
  | { readonly table: 'semantic_answers'; readonly column: 'expires_at' };

/** As {@link AgedTable}, including a table with a deletion of its own. */
type DatedTable = AgedTable | { readonly table: 'audit_log'; readonly column: 'at' };

/** Deletes up to `limit` rows, oldest first, and returns their number. */
export async function deleteBefore(
  tx: Db,
  { table, column }: AgedTable,
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
  { table, column }: DatedTable,
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

/** Organisations of the oldest `limit` rows. */
export async function listOrganisationsBefore(
  db: Db,
  { table, column }: GloballyAgedTable,
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

/** Ids of an organisation's oldest `limit` rows. */
export async function listIdsBefore(
  db: Db,
  { table, column }: AgedTableWithId,
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
