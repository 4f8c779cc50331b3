/** Knows the sync_status table: what each owner's run has told last of where it stands. */
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

/** An owner, with who writes for it and what was told; times by the database's clock. */
export interface OwnerStatus {
  readonly owner: string;
  readonly now: number;
  /** '' while nobody holds the lease; it may have ended. */
  readonly run_id: string;
  readonly holder: string;
  readonly expires_at: number;
  /** Null for an owner that has told nothing. */
  readonly report: string | null;
  readonly told_at: number | null;
}

/** Replaces what the owner told before. */
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

/** Owners by name, all or the one that is named, also those that have told nothing yet. */
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
  // One that has come stays, and each gets a greater number than all before.
  const stamp = sql<string>`(select cast(max(number) as char) from sync_leases
    where organisation_id = ${organisationId})`;
  const source = { db, stamp, orderedBy: 'sync_leases.owner', isAscending: true };
  return listJoined(source, owners, page, (some) =>
    some.select([
      'sync_leases.owner as id',
      ...(['sync_leases.owner', 'sync_leases.run_id', 'sync_leases.holder'] as const),
      ...(['sync_leases.expires_at', 'sync_status.report', 'sync_status.told_at'] as const),
      serverNowMs.as('now'),
    ]),
  );
}
