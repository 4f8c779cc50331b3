/** Table functions for region_unsent_totals: the totals of requests of a region that its home does not have yet. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import type { RequestTotalRow } from '../logs/request-totals.ts';

interface UnsentTotalRow {
  organisation_id: string;
  began_at: number;
  id: Buffer;
  /** Incremented by every change, so that one during the sending is sent again. */
  version: number;
  changed_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    region_unsent_totals: UnsentTotalRow;
  }
}

type TotalKey = Pick<RequestTotalRow, 'organisation_id' | 'began_at' | 'id'>;

/** Notes totals that were changed in this transaction. */
export async function note(tx: Db, totals: readonly TotalKey[]): Promise<void> {
  if (totals.length === 0) return;
  const values = totals
    .toSorted((a, b) => a.began_at - b.began_at || a.id.compare(b.id))
    .map(
      ({ organisation_id, began_at, id }) =>
        sql`(${organisation_id}, ${began_at}, ${id}, 1, ${serverNowMs})`,
    );
  await sql`
    INSERT INTO region_unsent_totals (organisation_id, began_at, id, version, changed_at)
    VALUES ${sql.join(values)} ON DUPLICATE KEY UPDATE version = version + 1`.execute(tx);
}

/** Totals of one organisation as they are now, with their versions. */
export interface UnsentTotals {
  readonly organisationId: string;
  readonly totals: readonly RequestTotalRow[];
  readonly versions: readonly UnsentTotalRow[];
}

/** The totals that have waited the longest, of one organisation; null when home has all. */
export async function listOldest(db: Db, limit: number): Promise<UnsentTotals | null> {
  const first = await db
    .selectFrom('region_unsent_totals')
    .select('organisation_id')
    .orderBy('changed_at')
    .limit(1)
    .executeTakeFirst();
  if (first === undefined) return null;
  const organisationId = first.organisation_id;
  // The versions first: totals that change meanwhile are sent again.
  const versions = await db
    .selectFrom('region_unsent_totals')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('changed_at')
    .limit(limit)
    .execute();
  const keys = versions.map(({ began_at, id }) => sql`(${began_at}, ${id})`);
  const { rows: totals } = await sql<RequestTotalRow>`
    SELECT * FROM request_totals WHERE organisation_id = ${organisationId}
      AND (began_at, id) IN (${sql.join(keys)})`.execute(db);
  return { organisationId, totals, versions };
}

/** Forgets totals that home has, unless they have changed meanwhile. */
export async function forget(db: Db, { organisationId, versions }: UnsentTotals): Promise<void> {
  const sent = versions.map(({ began_at, id, version }) => sql`(${began_at}, ${id}, ${version})`);
  await sql`
    DELETE FROM region_unsent_totals WHERE organisation_id = ${organisationId}
      AND (began_at, id, version) IN (${sql.join(sent)})`.execute(db);
}
