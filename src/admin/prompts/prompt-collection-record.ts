/** Converts collections of prompts to API records and to the body that would create them again. */
import { z } from 'zod';
import { omitNulls } from '../../model/wire/json-record.ts';
import { Flag } from '../../model/wire/resource-fields.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type {
  CollectionDetails,
  StoredPromptCollection,
} from '../../store/prompts/prompt-collections.ts';

const Details = z.object({
  child_collections_count: z.int(),
  prompts_count: z.int(),
  child_collections_last_updated_at: ResponseTimestamp.nullable(),
  prompts_last_updated_at: ResponseTimestamp.nullable(),
});

const shape = {
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid(),
  parent_collection_id: z.uuid().nullable(),
  /** An integer, because clients of this API cannot parse a boolean here. */
  is_default: Flag,
  status: z.literal('active'),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('collection'),
};

export const PromptCollectionListItem = z.object({ ...shape, collection_details: Details });

export const PromptCollectionRecord = z.object({
  ...shape,
  child_collections: z.array(
    z.object({
      id: z.uuid(),
      name: z.string(),
      slug: z.string(),
      last_updated_at: ResponseTimestamp,
      collection_details: Details,
    }),
  ),
});

export function promptCollectionToListItem(
  row: StoredPromptCollection,
  details: CollectionDetails,
): z.infer<typeof PromptCollectionListItem> {
  return { ...fieldsOf(row), collection_details: toDetails(details) };
}

export function promptCollectionToRecord(
  row: StoredPromptCollection,
  children: readonly StoredPromptCollection[],
  details: ReadonlyMap<string, CollectionDetails>,
): z.infer<typeof PromptCollectionRecord> {
  return {
    ...fieldsOf(row),
    child_collections: children.map(({ id, name, slug, last_updated_at }) => ({
      id,
      name,
      slug,
      last_updated_at: formatTimestamp(last_updated_at),
      collection_details: toDetails(details.get(id)!),
    })),
  };
}

/** The body that would create this collection; sync compares it with its manifests. */
export function promptCollectionToSpec({
  name,
  slug,
  workspace_id,
  parent_collection_id,
}: StoredPromptCollection): Record<string, unknown> {
  return omitNulls({ name, slug, workspace_id, parent_collection_id });
}

function toDetails(details: CollectionDetails): z.infer<typeof Details> {
  const { collections, collectionsUpdatedAt, prompts, promptsUpdatedAt } = details;
  return {
    child_collections_count: collections,
    prompts_count: prompts,
    child_collections_last_updated_at: momentOrNull(collectionsUpdatedAt),
    prompts_last_updated_at: momentOrNull(promptsUpdatedAt),
  };
}

function momentOrNull(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at);
}

function fieldsOf(row: StoredPromptCollection) {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    parent_collection_id: row.parent_collection_id,
    is_default: row.is_default === 0 ? (0 as const) : (1 as const),
    status: 'active' as const,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'collection' as const,
  };
}
