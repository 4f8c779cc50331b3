/** Lists API keys that expire within a time, by the index on their end. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { isListedKey, type NamedSubject, type SubjectPlace } from '../rows/subject-place.ts';

export interface EndingKey extends NamedSubject {
  readonly expires_at: number;
}

/** Up to `limit` keys that end after `from` and not after `to`, in milliseconds since the epoch, the first end first. */
export async function listEnding(
  db: Db,
  { from, to }: { readonly from: number; readonly to: number },
  place: SubjectPlace,
): Promise<EndingKey[]> {
  const { organisationId, workspaceId, after, limit } = place;
  const { at, id } = after ?? { at: from, id: '' };
  const { rows } = await sql<EndingKey>`
    SELECT r.id, r.name, r.workspace_id, r.expires_at FROM api_keys r
    WHERE r.organisation_id = ${organisationId} AND r.expires_at > ${from} AND r.expires_at <= ${to}
      AND r.expires_at >= ${at} AND (r.expires_at > ${at} OR r.id > ${id})
      AND ${workspaceId === undefined ? sql`TRUE` : sql`r.workspace_id = ${workspaceId}`}
      AND ${isListedKey(place)}
    ORDER BY r.expires_at, r.id LIMIT ${limit}`.execute(db);
  return rows;
}
