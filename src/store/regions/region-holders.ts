/** Table functions for region_holders: the holder by which home knows a region, and the request that is under way. */
import { sql } from 'kysely';
import { newIdBytes } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';

/** Times by the clock of the region's database, in milliseconds. */
export interface RegionHolderRow {
  organisation_id: string;
  /** 16 random bytes that name this database to home for good. */
  origin: Buffer;
  /** Names the region at home; another one after home has charged what the region held. */
  holder: Buffer;
  /** Number of the last request that home has answered; 0 before the first one. */
  sequence: number;
  /** When the last request was sent that home has answered. */
  renewed_at: number;
  /** Request as JSON that home has perhaps carried out; null when none is under way. */
  request: string | null;
  /** When the request was last sent. */
  attempted_at: number;
  /** When home was last asked for what it wants returned. */
  polled_at: number;
  /** When counters were last compared with what home has counted. */
  swept_at: number;
  /** Holders of the organisation at home; null before the first answer. */
  home_holders: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    region_holders: RegionHolderRow;
  }
}

const table = rows('region_holders');

export function find(db: Db, organisationId: string): Promise<RegionHolderRow | undefined> {
  return table.find(db, { organisation_id: organisationId });
}

/** Locks the row, which it inserts when there is none. */
export async function lock(tx: Db, organisationId: string): Promise<RegionHolderRow> {
  await insertMissing(tx, organisationId);
  const row = await table.findForUpdate(tx, { organisation_id: organisationId });
  return row!;
}

export async function insertMissing(db: Db, organisationId: string): Promise<void> {
  const never = { sequence: 0, renewed_at: 0, attempted_at: 0, polled_at: 0, swept_at: 0 };
  const row = { origin: newIdBytes(), holder: newIdBytes(), request: null, home_holders: null };
  await db
    .insertInto('region_holders')
    .values({ organisation_id: organisationId, ...never, ...row })
    .onDuplicateKeyUpdate({ organisation_id: organisationId })
    .execute();
}

type Changes = Partial<Omit<RegionHolderRow, 'organisation_id' | 'origin'>>;

export async function update(tx: Db, organisationId: string, changes: Changes): Promise<void> {
  await table.update(tx, { organisation_id: organisationId }, changes);
}

/** Lets a request that home did not answer be sent again sooner, as if it had been sent `byMs` earlier. */
export async function retrySoon(db: Db, organisationId: string, byMs: number): Promise<void> {
  await sql`
    UPDATE region_holders SET attempted_at = ${serverNowMs} - ${byMs}
    WHERE organisation_id = ${organisationId} AND request IS NOT NULL`.execute(db);
}

/** Claims work that one replica of the region does at a time; false when it was claimed within `everyMs`. */
export async function claim(
  db: Db,
  organisationId: string,
  column: 'polled_at' | 'swept_at',
  everyMs: number,
): Promise<boolean> {
  const result = await sql`
    UPDATE region_holders SET ${sql.ref(column)} = ${serverNowMs}
    WHERE organisation_id = ${organisationId} AND ${sql.ref(column)} < ${serverNowMs} - ${everyMs}`.execute(
    db,
  );
  return result.numAffectedRows === 1n;
}

/** Organisations of which the region has counted or logged anything, also before home has heard of it. */
export async function listOrganisations(db: Db): Promise<string[]> {
  const { rows: found } = await sql<{ id: string }>`
    SELECT organisation_id AS id FROM region_holders
    UNION SELECT organisation_id FROM region_unsent_totals`.execute(db);
  return found.map(({ id }) => id);
}

const holding = sql`EXISTS (SELECT 1 FROM region_loans l
  WHERE l.organisation_id = h.organisation_id AND l.units > 0)`;

/** Organisations with something to send to home: due loans, a request without an answer, or a lease to renew. */
export async function listDue(db: Db, renewMs: number, limit: number): Promise<string[]> {
  const { rows: found } = await sql<{ id: string }>`
    SELECT DISTINCT organisation_id AS id FROM region_loans WHERE due_at <= ${serverNowMs}
    UNION SELECT h.organisation_id FROM region_holders h WHERE h.request IS NOT NULL
      OR (h.renewed_at < ${serverNowMs} - ${renewMs} AND ${holding})
    LIMIT ${limit}`.execute(db);
  return found.map(({ id }) => id);
}

/** Organisations of which the region holds units at home. */
export async function listHolding(db: Db): Promise<string[]> {
  const { rows: found } = await sql<{ id: string }>`
    SELECT h.organisation_id AS id FROM region_holders h WHERE ${holding}`.execute(db);
  return found.map(({ id }) => id);
}
