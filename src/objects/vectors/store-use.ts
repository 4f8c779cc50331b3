/** Knows until when a vector store is there: it expires some days after its last use. */
import type { Db } from '../../store/connection/db.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';

type Row = vectorStores.StoredVectorStore;

export const dayMs = 86_400_000;
/** Moments of use are written down no more often. */
const activityMs = 60_000;

export function isExpired({ status, expires_at: at }: Row, now: number): boolean {
  return status !== 'active' || (at !== null && at <= now);
}

/** That it is used now: a request about its files, or a search. */
export async function noteUse(db: Db, row: Row, now: number): Promise<void> {
  if (now - row.last_active_at < activityMs) return;
  const days = row.expires_after_days;
  await vectorStores.update(db, row, {
    last_active_at: now,
    ...(days === null ? {} : { expires_at: now + days * dayMs }),
  });
}
