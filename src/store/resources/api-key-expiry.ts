/** Knows how expired API keys are found by index and marked by primary key, each of them once. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/** Where a due key is found again: by its primary key. */
export interface DueKey {
  organisation_id: string;
  id: string;
}

/** Keys with `expires_at <= now` that are not marked yet, longest overdue first, save `except`. */
export function listDue(
  db: Db,
  now: number,
  limit: number,
  except: readonly DueKey[],
): Promise<DueKey[]> {
  const ids = except.map(({ id }) => id);
  return db
    .selectFrom('api_keys')
    .select(['organisation_id', 'id'])
    .where('status', '=', 'active')
    .where('expires_at', '<=', now)
    .$if(ids.length > 0, (keys) => keys.where('id', 'not in', ids))
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

/**
 * Marks those of an organisation's `ids` that are still due and yields how many those were. Each key
 * is marked by exactly one caller, because a second one waits for the row and finds it marked. The
 * primary key leads to them, so that no row in between is waited for.
 */
export async function updateDueToExpired(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
  now: number,
): Promise<number> {
  const result = await sql`
    UPDATE api_keys FORCE INDEX (PRIMARY) SET status = 'expired', last_updated_at = ${now}
    WHERE ${keysOf(organisationId, ids)} AND status = 'active' AND expires_at <= ${now}`.execute(
    tx,
  );
  return Number(result.numAffectedRows ?? 0n);
}

/** What an audit row tells of each key. */
export function expiryFacts(organisationId: string, ids: readonly string[]) {
  return {
    from: sql`FROM api_keys WHERE ${keysOf(organisationId, ids)}`,
    resourceId: sql<string>`id`,
    changes: sql<string>`CONCAT('{"status":"expired","expires_at":', expires_at, '}')`,
  };
}

function keysOf(organisationId: string, ids: readonly string[]): RawBuilder<unknown> {
  return sql`organisation_id = ${organisationId} AND id IN (${sql.join(ids)})`;
}
