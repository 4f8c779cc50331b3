/** Knows which vector stores runs can search: those that the gateway keeps for the caller, and that have not expired. */
import { type ToolResources, vectorStoreIdsIn } from '../../model/objects/run-tool.ts';
import { ObjectError, type ObjectRequest } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';

/** @throws ObjectError that names a store which cannot be searched */
export async function requireSearchable(
  search: StoreSearch,
  { owner, now }: ObjectRequest,
  resources: ToolResources | null | undefined,
): Promise<void> {
  const ids = vectorStoreIdsIn(resources);
  if (ids.length === 0) return;
  const found = await search.listSearchable(owner, ids, now);
  const missing = ids.find((id) => !found.includes(id));
  if (missing === undefined) return;
  throw new ObjectError(
    'invalid_request',
    `The vector store ${missing} cannot be searched: it has expired, or a provider keeps it`,
    'tool_resources.file_search.vector_store_ids',
  );
}
