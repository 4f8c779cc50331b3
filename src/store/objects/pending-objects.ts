/** Table functions for pending_objects: objects requested from providers whose creation is not confirmed. */
import type { Db } from '../connection/db.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

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
  /** Identifies the object at its provider; null when an object of this kind cannot carry a mark. */
  mark: string | null;
  /** When the request was sent; milliseconds since the epoch. */
  created_at: number;
  /** When the provider is queried next. */
  look_at: number;
  /** When an object with this mark was first found. */
  found_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    pending_objects: PendingObjectRow;
  }
}

export type StoredPendingObject = PendingObjectRow;

const table = rows('pending_objects');

export const { insert } = table;

/** Deletes a row once the outcome is known. */
export const { delete: deleteById } = table.keyedBy('organisation_id', 'id');

/** Rows of any organisation that are due at `now`, the longest due first. */
export function listDue(db: Db, now: number, limit: number): Promise<StoredPendingObject[]> {
  return table.listAnywhere(db, { look_at: atMost(now) }, { orderBy: ['look_at'], limit });
}

/** Sets the time of the next query and whether the object has been found. */
export async function putOff(
  db: Db,
  { organisation_id, id }: StoredPendingObject,
  { look_at, found_at }: Pick<StoredPendingObject, 'look_at' | 'found_at'>,
): Promise<void> {
  await table.update(db, { organisation_id, id }, { look_at, found_at });
}
