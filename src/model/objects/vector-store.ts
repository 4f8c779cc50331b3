/** Defines the bodies for vector stores, their files and searches, and evaluates search filters. */
import { z } from 'zod';

const Metadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((metadata) => Object.keys(metadata).length <= 16, 'must have at most 16 entries');

const Attributes = z
  .record(z.string().min(1).max(64), z.union([z.string().max(512), z.number(), z.boolean()]))
  .refine((attributes) => Object.keys(attributes).length <= 16, 'must have at most 16 entries');
export type Attributes = z.infer<typeof Attributes>;

const ExpiresAfter = z.strictObject({
  anchor: z.literal('last_active_at'),
  days: z.int().min(1).max(365),
});

/** Tokens of a chunk, and how many of them repeat the end of the previous chunk. */
const StaticSizes = z
  .strictObject({
    max_chunk_size_tokens: z.int().min(100).max(4096),
    chunk_overlap_tokens: z.int().min(0),
  })
  .refine((sizes) => sizes.chunk_overlap_tokens * 2 <= sizes.max_chunk_size_tokens, {
    path: ['chunk_overlap_tokens'],
    message: 'must be at most half of max_chunk_size_tokens',
  });

export const ChunkingStrategy = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto') }),
  z.strictObject({ type: z.literal('static'), static: StaticSizes }),
]);
export type ChunkingStrategy = z.infer<typeof ChunkingStrategy>;

export const autoChunkTokens = 800;
export const autoOverlapTokens = 400;

const FileId = z.string().min(1).max(64);
const filesPerRequestMax = 500;

const sharedFields = {
  name: z.string().max(255).nullish(),
  description: z.string().max(512).nullish(),
  metadata: Metadata.nullish(),
};

export const VectorStoreCreate = z.strictObject({
  ...sharedFields,
  expires_after: ExpiresAfter.nullish(),
  chunking_strategy: ChunkingStrategy.optional(),
  file_ids: z.array(FileId).max(filesPerRequestMax).optional(),
  /** Model of the embedding requests; a config may set another. */
  embedding_model: z.string().min(1).max(255).optional(),
});

export const VectorStoreUpdate = z.strictObject({
  ...sharedFields,
  expires_after: ExpiresAfter.nullish(),
});

const fileTerms = {
  attributes: Attributes.nullish(),
  chunking_strategy: ChunkingStrategy.optional(),
};
export const VectorStoreFileCreate = z.strictObject({ file_id: FileId, ...fileTerms });
export type VectorStoreFileCreate = z.infer<typeof VectorStoreFileCreate>;
export const VectorStoreFileUpdate = z.strictObject({ attributes: Attributes.nullable() });

export const FileBatchCreate = z
  .strictObject({
    file_ids: z.array(FileId).min(1).max(filesPerRequestMax).optional(),
    files: z.array(VectorStoreFileCreate).min(1).max(filesPerRequestMax).optional(),
    ...fileTerms,
  })
  .refine(({ file_ids: ids, files }) => (ids === undefined) !== (files === undefined), {
    path: ['file_ids'],
    message: 'must be set unless files is set, not both',
  });

const SearchFilter = z.custom<SearchFilter>(
  (value) => isSearchFilter(value, 0),
  'must be {type, key, value} or {type: and | or, filters}, nested at most 8 levels deep',
);

/** Weights of the embedding similarity and of the matching words. */
const HybridWeights = z
  .strictObject({ embedding_weight: z.number().min(0), text_weight: z.number().min(0) })
  .refine(({ embedding_weight: meaning, text_weight: words }) => meaning + words > 0, {
    path: ['embedding_weight'],
    message: 'must be above 0 unless text_weight is',
  });
export type HybridWeights = z.infer<typeof HybridWeights>;

export const VectorStoreSearch = z.strictObject({
  query: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(16)]),
  filters: SearchFilter.nullish(),
  max_num_results: z.int().min(1).max(50).default(10),
  ranking_options: z
    .strictObject({
      ranker: z.enum(['none', 'auto', 'default-2024-11-15']).optional(),
      score_threshold: z.number().min(0).max(1).default(0),
      hybrid_search: HybridWeights.nullish(),
    })
    .nullish(),
  /** Accepted but ignored: queries are never rewritten. */
  rewrite_query: z.boolean().optional(),
});

type AttributeValue = string | number | boolean;

export type SearchFilter =
  | { readonly type: 'and' | 'or'; readonly filters: readonly SearchFilter[] }
  | { readonly type: 'in' | 'nin'; readonly key: string; readonly value: readonly AttributeValue[] }
  | {
      readonly type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';
      readonly key: string;
      readonly value: AttributeValue;
    };

const depthMax = 8;
const filtersMax = 64;

function isSearchFilter(value: unknown, depth: number): value is SearchFilter {
  if (typeof value !== 'object' || value === null || depth > depthMax) return false;
  const { type, key, value: compared, filters, ...others } = value as Record<string, unknown>;
  if (Object.keys(others).length > 0) return false;
  if (type === 'and' || type === 'or') {
    if (key !== undefined || compared !== undefined || !Array.isArray(filters)) return false;
    return filters.length <= filtersMax && filters.every((part) => isSearchFilter(part, depth + 1));
  }
  if (filters !== undefined || typeof key !== 'string') return false;
  if (type === 'in' || type === 'nin') {
    return Array.isArray(compared) && compared.length <= 256 && compared.every(isValue);
  }
  return comparisons.has(type) && isValue(compared);
}

const comparisons = new Set<unknown>(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']);

function isValue(value: unknown): value is AttributeValue {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** Whether the attributes of a file match. A missing attribute differs from every value. */
export function matchesFilter(attributes: Attributes, filter: SearchFilter): boolean {
  switch (filter.type) {
    case 'and':
      return filter.filters.every((part) => matchesFilter(attributes, part));
    case 'or':
      return filter.filters.some((part) => matchesFilter(attributes, part));
    case 'in':
      return (
        Object.hasOwn(attributes, filter.key) && filter.value.includes(attributes[filter.key]!)
      );
    case 'nin':
      return !matchesFilter(attributes, { ...filter, type: 'in' });
    case 'ne':
      return !matchesFilter(attributes, { ...filter, type: 'eq' });
    default:
      return (
        Object.hasOwn(attributes, filter.key) &&
        compares(attributes[filter.key]!, filter.type, filter.value)
      );
  }
}

/** Values of different types are neither equal nor ordered. */
function compares(
  left: AttributeValue,
  by: 'eq' | 'gt' | 'gte' | 'lt' | 'lte',
  right: AttributeValue,
): boolean {
  if (typeof left !== typeof right) return false;
  switch (by) {
    case 'eq':
      return left === right;
    case 'gt':
      return left > right;
    case 'gte':
      return left >= right;
    case 'lt':
      return left < right;
    case 'lte':
      return left <= right;
  }
}
