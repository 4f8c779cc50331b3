/** Table functions for assistants: models with their instructions, to which runs refer. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { type ObjectOwner, ownedBy } from '../rows/owned-rows.ts';
import { rows } from '../rows/rows.ts';

interface AssistantRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  name: string | null;
  description: string | null;
  /** JSON object: model and parameters. */
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

const table = rows('assistants');

export const { insert } = table;

export function find(db: Db, owner: ObjectOwner, id: string): Promise<StoredAssistant | undefined> {
  return table.find(db, { ...ownedBy(owner), id });
}

/** One page, and one more row when more exist. */
export function list(db: Db, owner: ObjectOwner, page: CreatedPage): Promise<StoredAssistant[]> {
  return createdPage(table.matching(db, ownedBy(owner)).selectAll(), page).execute();
}

/** Returns false when the terms are no longer `before`, that is, another update came first. */
export async function update(
  db: Db,
  { organisation_id, id, terms: before }: StoredAssistant,
  set: Partial<Pick<StoredAssistant, 'name' | 'description' | 'terms' | 'metadata'>>,
): Promise<boolean> {
  return (await table.update(db, { organisation_id, id, terms: before }, set)) > 0;
}

/** Returns whether it existed. */
export async function deleteById(db: Db, owner: ObjectOwner, id: string): Promise<boolean> {
  return (await table.delete(db, { ...ownedBy(owner), id })) > 0;
}
