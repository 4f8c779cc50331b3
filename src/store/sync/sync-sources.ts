/** Table functions for sync_sources: the files that sync read last for each owner. */
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';

interface SyncSourceRow {
  organisation_id: string;
  owner: string;
  commit_id: string;
  /** The files, packed and sealed; null where they were too large. */
  files: string | null;
  /** By the database's clock, milliseconds since the epoch. */
  stored_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_sources: SyncSourceRow;
  }
}

const table = rows('sync_sources');

/** Replaces what was stored for the owner. */
export async function upsert(tx: Db, row: Omit<SyncSourceRow, 'stored_at'>): Promise<void> {
  const { commit_id, files } = row;
  await tx
    .insertInto('sync_sources')
    .values({ ...row, stored_at: serverNowMs })
    .onDuplicateKeyUpdate({ commit_id, files, stored_at: serverNowMs })
    .execute();
}

export function findByOwner(
  db: Db,
  organisationId: string,
  owner: string,
): Promise<SyncSourceRow | undefined> {
  return table.find(db, { organisation_id: organisationId, owner });
}
