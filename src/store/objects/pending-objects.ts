/** Knows the pending_objects table: which objects providers are asked to make, of which nobody knows yet whether they did. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';

interface PendingObjectRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  kind: string;
  /** As in owned_objects. */
  provider: string;
  /** As in owned_objects. */
  account: string;
  /** That the object carries at its provider; null where it can carry none. */
  mark: string | null;
  /** When the request went out; milliseconds since the epoch. */
  created_at: number;
  /** When the provider is asked next whether it has made one. */
  look_at: number;
  /** Since when one is known that carries the mark. */
  found_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    pending_objects: PendingObjectRow;
  }
}

export type PendingObject = PendingObjectRow;

export const insert = insertion((db, row: PendingObject & Record<string, unknown>) =>
  db.insertInto('pending_objects').values(row),
);

type Named = { organisationId: string; id: string };

const deletion = statement((db, { organisationId, id }: Named) =>
  db
    .deleteFrom('pending_objects')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id),
);

/** It is known what came of it. */
export async function deleteById(db: Db, { organisation_id, id }: PendingObject): Promise<void> {
  await deletion.all(db, { organisationId: organisation_id, id });
}

/** Some that are due at `now`, those first that have been for longest. */
export function listDue(db: Db, now: number, limit: number): Promise<PendingObject[]> {
  return db
    .selectFrom('pending_objects')
    .selectAll()
    .where('look_at', '<=', now)
    .orderBy('look_at')
    .limit(limit)
    .execute();
}

/** Says when it is looked for again, and whether it has been found by now. */
export async function putOff(
  db: Db,
  { organisation_id, id }: PendingObject,
  { look_at, found_at }: Pick<PendingObject, 'look_at' | 'found_at'>,
): Promise<void> {
  await db
    .updateTable('pending_objects')
    .set({ look_at, found_at })
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .execute();
}
