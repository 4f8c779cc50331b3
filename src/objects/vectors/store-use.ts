/** Tracks the last use of a vector store, from which its expiry is counted. */
import type { Db } from '../../store/connection/db.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';

type Row = vectorStores.StoredVectorStore;

export const msPerDay = 86_400_000;
/** Minimum interval between two writes of the last use. */
const useIntervalMs = 60_000;

export function isExpired({ status, expires_at: at }: Row, now: number): boolean {
  return status !== 'active' || (at !== null && at <= now);
}

/** Records a use now: a request about its files, or a search. */
export async function recordUse(db: Db, row: Row, now: number): Promise<void> {
  if (now - row.last_active_at < useIntervalMs) return;
  const days = row.expires_after_days;
  await vectorStores.update(db, row, {
    last_active_at: now,
    ...(days === null ? {} : { expires_at: now + days * msPerDay }),
  });
}
