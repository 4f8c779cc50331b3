/** Defines the bounds of requests about objects that a provider stores; the provider judges all other members. */
import { z } from 'zod';
import { boundTokens } from './run.ts';
import { toolsMax } from './run-tool.ts';
import { ChunkingStrategy } from './vector-store.ts';

/** A request for the path of an object, relative to its kind. */
interface ForwardedRequest {
  readonly kind: string;
  readonly method: string | undefined;
  /** Null for a path that creates or lists objects. */
  readonly id: string | null;
  /** Segments after the id. */
  readonly rest: readonly string[];
}

const tools = z.array(z.unknown()).max(toolsMax).nullish();
const chunking = { chunking_strategy: ChunkingStrategy.nullish() };

const AssistantBounds = z.looseObject({ tools });
const RunBounds = z.looseObject({
  tools,
  max_prompt_tokens: boundTokens,
  max_completion_tokens: boundTokens,
});
const StoreFileBounds = z.looseObject({ file_id: z.string().optional(), ...chunking });
const FileBatchBounds = z.looseObject({ ...chunking, files: z.array(StoreFileBounds).nullish() });

/** Bodies by kind and the segments after the id; an empty key is the object itself. */
const bodies: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>> = {
  assistants: { '': AssistantBounds },
  threads: { runs: RunBounds },
  vector_stores: {
    '': z.looseObject(chunking),
    files: StoreFileBounds,
    file_batches: FileBatchBounds,
  },
};

/** Null when no member of the body has a bound. */
export function forwardedBody({ kind, method, rest }: ForwardedRequest): z.ZodType | null {
  if (method !== 'POST') return null;
  return bodies[kind]?.[rest.join('/').toLowerCase()] ?? null;
}

const Limit = z.stringFormat('limit', /^0*([1-9]\d?|100)$/, 'must be from 1 to 100');
const Order = z.enum(['asc', 'desc'], 'must be asc or desc');

/** Kinds whose pages have at most 100 objects; those of others have larger bounds. */
const pagedKinds: ReadonlySet<string> = new Set(Object.keys(bodies));

/** Query parameters by name, each with all its values; null when the request is no list. */
export function forwardedQuery({ kind, method, rest }: ForwardedRequest): z.ZodType | null {
  if (method !== 'GET') return null;
  const isContent = rest.at(-1)?.toLowerCase() === 'content';
  if (isContent) return null;
  const limit = pagedKinds.has(kind) ? Limit : z.string();
  return z.looseObject({
    order: z.array(Order).optional(),
    limit: z.array(limit).optional(),
  });
}
