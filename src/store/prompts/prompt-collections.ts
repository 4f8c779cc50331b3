/** Knows the prompt_collections table: folders of a workspace that hold its prompts, the first of which it always has. */
import { type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type RowCondition, resourceTable } from '../rows/resource-table.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf, type WorkspaceContents } from '../rows/workspace-contents.ts';

interface PromptCollectionRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  parent_collection_id: string | null;
  slug: string;
  name: string;
  /** 1 for the one that comes and goes with its workspace. */
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

/** The default one is none of its contents, and goes with them. */
export const contents: WorkspaceContents = {
  ...held,
  held: (at) => sql`${held.held(at)} and is_default = 0`,
};

/** Those that somebody has made, oldest first. */
export async function listMade(
  db: Db,
  organisationId: string,
  which: RowCondition | null,
): Promise<StoredPromptCollection[]> {
  const rows = await table.listAllForOrganisation(db, organisationId, which);
  return rows.filter(({ is_default }) => is_default === 0);
}

/** The default one of a workspace, which stays until the transaction ends. */
export function findDefault(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<StoredPromptCollection | undefined> {
  return db
    .selectFrom('prompt_collections')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', '=', workspaceId)
    .where('is_default', '=', 1)
    .executeTakeFirst();
}

/** Ids of the default ones of all workspaces. */
export async function listDefaultIds(db: Db, organisationId: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('prompt_collections')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('is_default', '=', 1)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Whether a collection is another or lies in it, at whatever depth. */
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
    const row: Pick<StoredPromptCollection, 'parent_collection_id'> | undefined = await tx
      .selectFrom('prompt_collections')
      .select('parent_collection_id')
      .where('organisation_id', '=', organisationId)
      .where('id', '=', at)
      .executeTakeFirst();
    at = row?.parent_collection_id ?? null;
  }
  return false;
}

/** What lies in a collection, itself apart. */
export interface CollectionDetails {
  readonly collections: number;
  readonly collectionsUpdatedAt: number | null;
  readonly prompts: number;
  readonly promptsUpdatedAt: number | null;
}

/** By the ids of the collections; nothing is told of one that is empty. */
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

/** Those that lie in one, oldest first; a thousand at most. */
export function listChildren(
  db: Db,
  organisationId: string,
  parentId: string,
): Promise<StoredPromptCollection[]> {
  return db
    .selectFrom('prompt_collections')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('parent_collection_id', '=', parentId)
    .orderBy('id')
    .limit(childrenMax)
    .execute();
}

const childrenMax = 1000;
