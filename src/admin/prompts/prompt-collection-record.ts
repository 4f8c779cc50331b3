/** Converts collections of prompts to API records and to the body that would create them again. */
import { z } from 'zod';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';
import type {
  CollectionDetails,
  StoredPromptCollection,
} from '../../store/prompts/prompt-collections.ts';
import { constant, numericFlag, record, timestamp } from '../request/record.ts';

const Details = z.object({
  child_collections_count: z.int(),
  prompts_count: z.int(),
  child_collections_last_updated_at: ResponseTimestamp.nullable(),
  prompts_last_updated_at: ResponseTimestamp.nullable(),
});

const collection = record<StoredPromptCollection>()({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid(),
  parent_collection_id: z.uuid().nullable(),
  is_default: numericFlag,
  status: constant('active'),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('collection'),
});

export const PromptCollectionListItem = collection.schema.extend({ collection_details: Details });

export const PromptCollectionRecord = collection.schema.extend({
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
  return { ...collection.toRecord(row), collection_details: toDetails(details) };
}

export function promptCollectionToRecord(
  row: StoredPromptCollection,
  children: readonly StoredPromptCollection[],
  details: ReadonlyMap<string, CollectionDetails>,
): z.infer<typeof PromptCollectionRecord> {
  return {
    ...collection.toRecord(row),
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
export const promptCollectionToSpec = collection.toSpec(
  'name',
  'slug',
  'workspace_id',
  'parent_collection_id',
);

function toDetails(details: CollectionDetails): z.infer<typeof Details> {
  const { collections, collectionsUpdatedAt, prompts, promptsUpdatedAt } = details;
  return {
    child_collections_count: collections,
    prompts_count: prompts,
    child_collections_last_updated_at: formatTimestampOrNull(collectionsUpdatedAt),
    prompts_last_updated_at: formatTimestampOrNull(promptsUpdatedAt),
  };
}
