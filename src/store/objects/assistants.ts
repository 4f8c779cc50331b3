/** Knows the assistants table: how models are asked, under names that runs refer to. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, isBetween } from '../rows/created-page.ts';
import { findOwn, type OwnerPlace } from '../rows/owned-rows.ts';

interface AssistantRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  name: string | null;
  description: string | null;
  /** JSON object: how its model is asked. */
  terms: string;
  /** JSON object. */
  metadata: string;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    assistants: AssistantRow;
  }
}

export type StoredAssistant = AssistantRow;

export async function insert(db: Db, row: StoredAssistant): Promise<void> {
  await db.insertInto('assistants').values(row).execute();
}

export function find(db: Db, place: OwnerPlace, id: string): Promise<StoredAssistant | undefined> {
  return findOwn(db, 'assistants', place, id);
}

/** At most one more than the limit, which tells that there are more. */
export function list(db: Db, place: OwnerPlace, page: CreatedPage): Promise<StoredAssistant[]> {
  return db
    .selectFrom('assistants')
    .selectAll()
    .where('organisation_id', '=', place.organisationId)
    .where('workspace_id', '=', place.workspaceId)
    .where(isBetween(page))
    .orderBy('created_at', page.order)
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute();
}

/** Whether it still is as it was read: `before` are its terms then. */
export async function update(
  db: Db,
  { organisation_id: organisationId, id, terms: before }: StoredAssistant,
  set: Partial<Pick<StoredAssistant, 'name' | 'description' | 'terms' | 'metadata'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('assistants')
    .set(set)
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('terms', '=', before)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Whether it was there. */
export async function deleteById(db: Db, place: OwnerPlace, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('assistants')
    .where('organisation_id', '=', place.organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', place.workspaceId)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
