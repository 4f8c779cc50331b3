/** Knows how expired API keys are found by index and marked by primary key, each of them once. */
import type { Db } from '../connection/db.ts';

/** What the audit row of an expiry tells. */
export interface ExpiredKey {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  expires_at: number | null;
}

/**
 * Ids of keys with `expires_at <= now` that are not marked yet, longest overdue first within each
 * status. A query a status, because only then the index (status, expires_at) gives order and limit.
 */
export async function listDueIds(db: Db, now: number, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (const status of ['active', 'exhausted'] as const) {
    if (ids.length === limit) break;
    const rows = await db
      .selectFrom('api_keys')
      .select('id')
      .where('status', '=', status)
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit - ids.length)
      .execute();
    ids.push(...rows.map((row) => row.id));
  }
  return ids;
}

/**
 * Marks those of `ids` that are still due as expired and returns them: each key is returned to
 * exactly one caller, because the row locks make a second one see it marked. Call it in a transaction.
 */
export async function updateDueToExpired(
  tx: Db,
  ids: readonly string[],
  now: number,
): Promise<ExpiredKey[]> {
  const due = await tx
    .selectFrom('api_keys')
    .select(['id', 'organisation_id', 'workspace_id', 'expires_at'])
    .where('id', 'in', ids)
    .where('status', '!=', 'expired')
    .where('expires_at', '<=', now)
    .orderBy('id')
    .forUpdate()
    .execute();
  if (due.length === 0) return [];
  await tx
    .updateTable('api_keys')
    .set({ status: 'expired', last_updated_at: now })
    .where(
      'id',
      'in',
      due.map((key) => key.id),
    )
    .where('status', '!=', 'expired')
    .execute();
  return due;
}
