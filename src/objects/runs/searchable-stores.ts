/** Checks that runs can search their vector stores: the gateway stores them for the caller, and they have not expired. */
import { type ToolResources, vectorStoreIdsIn } from '../../model/objects/run-tool.ts';
import { ObjectError, type ObjectRequest } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';

/** @throws ObjectError that names a store which cannot be searched */
export async function requireSearchableStores(
  search: StoreSearch,
  { owner, now }: ObjectRequest,
  resources: ToolResources | null | undefined,
): Promise<void> {
  const ids = vectorStoreIdsIn(resources);
  if (ids.length === 0) return;
  const searchable = await search.listSearchable(owner, ids, now);
  const missing = ids.find((id) => !searchable.includes(id));
  if (missing === undefined) return;
  throw new ObjectError(
    'invalid_request',
    `The vector store ${missing} cannot be searched: it has expired, or a provider stores it`,
    'tool_resources.file_search.vector_store_ids',
  );
}
