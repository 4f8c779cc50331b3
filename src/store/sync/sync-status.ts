/** Table functions for sync_status: the latest report of each owner's run. */
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { listJoined } from '../rows/paging.ts';

interface SyncStatusRow {
  organisation_id: string;
  owner: string;
  /** JSON. */
  report: string;
  /** By the database's clock, milliseconds since the epoch. */
  told_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_status: SyncStatusRow;
  }
}

/** An owner with its lease and its latest report; times by the database's clock. */
export interface OwnerStatus {
  readonly owner: string;
  readonly now: number;
  /** '' while the lease is free; otherwise the lease may have expired. */
  readonly run_id: string;
  readonly holder: string;
  readonly expires_at: number;
  /** Null for an owner without a report. */
  readonly report: string | null;
  readonly told_at: number | null;
}

/** Replaces the owner's previous report. */
export async function upsert(
  tx: Db,
  row: Pick<SyncStatusRow, 'organisation_id' | 'owner' | 'report'>,
): Promise<void> {
  const { report } = row;
  await tx
    .insertInto('sync_status')
    .values({ ...row, told_at: serverNowMs })
    .onDuplicateKeyUpdate({ report, told_at: serverNowMs })
    .execute();
}

/** Up to `limit` owners after a name whose latest report has another state than `Synced`, with that report. */
export function listUnsynced(
  db: Db,
  organisationId: string,
  after: string,
  limit: number,
): Promise<Pick<SyncStatusRow, 'owner' | 'report'>[]> {
  return db
    .selectFrom('sync_status')
    .select(['owner', 'report'])
    .where('organisation_id', '=', organisationId)
    .where('owner', '>', after)
    .where(sql<boolean>`JSON_UNQUOTE(JSON_EXTRACT(report, '$.state')) <> 'Synced'`)
    .orderBy('owner')
    .limit(limit)
    .execute();
}

/** Owners ordered by name, all or the named one, including those without a report. */
export async function listOwners(
  db: Db,
  organisationId: string,
  owner: string | undefined,
  page: Page,
): Promise<{ rows: OwnerStatus[]; total: number }> {
  const owners = db
    .selectFrom('sync_leases')
    .leftJoin('sync_status', (join) =>
      join
        .onRef('sync_status.organisation_id', '=', 'sync_leases.organisation_id')
        .onRef('sync_status.owner', '=', 'sync_leases.owner'),
    )
    .where('sync_leases.organisation_id', '=', organisationId)
    .$if(owner !== undefined, (all) => all.where('sync_leases.owner', '=', owner!));
  // Owners are never deleted and get increasing numbers, so that the greatest number identifies the list.
  const stamp = sql<string>`(select cast(max(number) as char) from sync_leases
    where organisation_id = ${organisationId})`;
  const source = { db, stamp, orderedBy: 'sync_leases.owner', isAscending: true };
  return listJoined(source, owners, page, (some) =>
    some.select([
      'sync_leases.owner as id',
      'sync_leases.owner',
      'sync_leases.run_id',
      'sync_leases.holder',
      'sync_leases.expires_at',
      'sync_status.report',
      'sync_status.told_at',
      serverNowMs.as('now'),
    ]),
  );
}
