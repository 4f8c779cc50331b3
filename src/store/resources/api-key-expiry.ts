/** Finds due API keys by index and marks them expired by primary key, each exactly once. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { atMost, not } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

const keys = rows('api_keys');

/** Primary key of a due API key. */
export interface DueKey {
  organisation_id: string;
  id: string;
}

/** Unmarked keys of any organisation with `expires_at <= now`, longest overdue first, without `except`. */
export function listDue(
  db: Db,
  now: number,
  limit: number,
  except: readonly DueKey[],
): Promise<DueKey[]> {
  return keys.listAnywhere(
    db,
    { status: 'active', expires_at: atMost(now), id: not(except.map(({ id }) => id)) },
    { columns: ['organisation_id', 'id'], orderBy: ['expires_at'], limit },
  );
}

/**
 * Marks those of the ids that are still due and returns their number. Exactly one caller marks a key,
 * because a second one waits for the row and finds it marked. The update reads by primary key, so that
 * it does not wait for unrelated rows.
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

/** The parts of the audit entry of each expired key. */
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
