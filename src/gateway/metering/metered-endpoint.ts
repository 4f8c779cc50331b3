/** Determines as which endpoint a request is metered, or that it is not metered. */
import type { Exchange } from '../callers/exchange.ts';
import { type OwnedPath, ownedPathOf } from '../references/owned-path.ts';

/** The request calls no model; usage in its response belongs to another request. */
export const unmetered = 'nothing';

/** An endpoint, `runs`, `compact`, or {@link unmetered}. */
export function meteredEndpointOf(
  endpoint: string,
  { request: { method }, path }: Pick<Exchange, 'request' | 'path'>,
): string {
  if (method !== 'POST') return unmetered;
  if (endpoint !== 'other' && endpoint !== 'files' && endpoint !== 'batches') return endpoint;
  const owned = ownedPathOf(method, path);
  return owned === null ? endpoint : (meteringOfOwned(owned) ?? unmetered);
}

/** Undefined for requests that call no model. */
function meteringOfOwned({ kind, id, rest, isMaker }: OwnedPath): string | undefined {
  const below = rest.join('/');
  if (kind === 'threads') return below === 'runs' ? 'runs' : undefined;
  if (kind === 'responses') return id === null && below === 'compact' ? 'compact' : undefined;
  if (kind === 'evals') return below === 'runs' ? 'other' : undefined;
  return isMaker && deferredKinds.has(kind) ? 'other' : undefined;
}

/** Kinds whose usage is unknown until they have finished. */
const deferredKinds: ReadonlySet<OwnedPath['kind']> = new Set([
  'batches',
  'message_batches',
  'fine_tuning_jobs',
  'videos',
]);
