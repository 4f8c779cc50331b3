/** Table functions for prompt_collections: folders of a workspace's prompts. Every workspace has a default one. */
import { type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type RowCondition, resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, type WorkspaceContents } from '../rows/workspace-contents.ts';

interface PromptCollectionRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string;
  parent_collection_id: string | null;
  slug: string;
  name: string;
  /** 1 for the collection that is created and deleted with its workspace. */
  is_default: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    prompt_collections: PromptCollectionRow;
  }
}

/** A collection as stored. */
export type StoredPromptCollection = Selectable<PromptCollectionRow>;

const table = resourceTable('prompt_collections');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  list,
  update,
  deleteById,
} = table;

const held = contentsOf('PromptCollection', 'prompt_collections');

/** The default collection does not count as contents, and is deleted with them. */
export const contents: WorkspaceContents = {
  ...held,
  held: (at) => sql`${held.held(at)} and is_default = 0`,
};

/** Collections other than the default ones, oldest first; `condition` selects a part of them. */
export async function listCreated(
  db: Db,
  organisationId: string,
  condition: RowCondition | null,
): Promise<StoredPromptCollection[]> {
  const all = await table.listAllForOrganisation(db, organisationId, condition);
  return all.filter(({ is_default }) => is_default === 0);
}

/** The default collection of a workspace. */
export function findDefault(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<StoredPromptCollection | undefined> {
  return table.rows.find(db, {
    organisation_id: organisationId,
    workspace_id: workspaceId,
    is_default: 1,
  });
}

/** Ids of the default collections of all workspaces. */
export async function listDefaultIds(db: Db, organisationId: string): Promise<Set<string>> {
  const where = { organisation_id: organisationId, is_default: 1 };
  const found = await table.rows.list(db, where, { columns: ['id'] });
  return new Set(found.map(({ id }) => id));
}

/** Whether a collection is `outerId` or is nested in it at any depth. */
export async function isWithin(
  tx: Db,
  organisationId: string,
  id: string,
  outerId: string,
): Promise<boolean> {
  const seen = new Set<string>();
  for (let at: string | null = id; at !== null && !seen.has(at); ) {
    if (at === outerId) return true;
    seen.add(at);
    const row: StoredPromptCollection | undefined = await table.findById(tx, organisationId, at);
    at = row?.parent_collection_id ?? null;
  }
  return false;
}

/** Counts of what a collection contains. */
export interface CollectionDetails {
  readonly collections: number;
  readonly collectionsUpdatedAt: number | null;
  readonly prompts: number;
  readonly promptsUpdatedAt: number | null;
}

/** By collection id. Counts only direct children. */
export async function detailsOf(
  db: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<Map<string, CollectionDetails>> {
  if (ids.length === 0) return new Map();
  const collections = await db
    .selectFrom('prompt_collections')
    .select(['parent_collection_id as id', ...counted])
    .where('organisation_id', '=', organisationId)
    .where('parent_collection_id', 'in', ids)
    .groupBy('parent_collection_id')
    .execute();
  const prompts = await db
    .selectFrom('prompts')
    .select(['collection_id as id', ...counted])
    .where('organisation_id', '=', organisationId)
    .where('collection_id', 'in', ids)
    .groupBy('collection_id')
    .execute();
  const [children, held] = [collections, prompts].map(
    (rows) => new Map(rows.map((row) => [row.id, row])),
  );
  return new Map(
    ids.map((id) => [
      id,
      {
        collections: Number(children!.get(id)?.count ?? 0),
        collectionsUpdatedAt: children!.get(id)?.latest ?? null,
        prompts: Number(held!.get(id)?.count ?? 0),
        promptsUpdatedAt: held!.get(id)?.latest ?? null,
      },
    ]),
  );
}

const counted = [
  sql<number>`count(*)`.as('count'),
  sql<number | null>`max(last_updated_at)`.as('latest'),
] as const;

/** Direct children, oldest first, at most a thousand. */
export function listChildren(
  db: Db,
  organisationId: string,
  parentId: string,
): Promise<StoredPromptCollection[]> {
  const where = { organisation_id: organisationId, parent_collection_id: parentId };
  return table.rows.list(db, where, { orderBy: ['id'], limit: childrenMax });
}

const childrenMax = 1000;
