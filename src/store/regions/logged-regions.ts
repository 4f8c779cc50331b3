/** Table functions for logged_regions: the regions whose own databases have log rows of an organisation. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface LoggedRegionRow {
  organisation_id: string;
  region: string;
  /** Start of the last hour in which the region logged requests, in milliseconds since the epoch. */
  last_hour: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    logged_regions: LoggedRegionRow;
  }
}

const table = rows('logged_regions');

/** Notes that the region has log rows of an hour. */
export async function note(tx: Db, row: LoggedRegionRow): Promise<void> {
  const { organisation_id, region, last_hour } = row;
  await sql`
    INSERT INTO logged_regions (organisation_id, region, last_hour)
    VALUES (${organisation_id}, ${region}, ${last_hour})
    ON DUPLICATE KEY UPDATE last_hour = GREATEST(last_hour, ${last_hour})`.execute(tx);
}

/** Names of the regions with log rows of the hour that begins at `since`, or of a later one. */
export async function listSince(db: Db, organisationId: string, since: number): Promise<string[]> {
  const found = await table
    .matching(db, { organisation_id: organisationId })
    .select('region')
    .where('last_hour', '>=', since)
    .orderBy('region')
    .execute();
  return found.map(({ region }) => region);
}
