/** Knows by what a request is metered: as which of those that ask a model, or not at all. */
import type { Exchange } from '../callers/exchange.ts';
import { type OwnedPath, ownedPathOf } from '../references/owned-path.ts';

/** Of a request that asks no model, so that what its answer tells of use is that of another. */
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

/** Undefined for what asks no model. */
function meteringOfOwned({ kind, id, rest, isMaker }: OwnedPath): string | undefined {
  const below = rest.join('/');
  if (kind === 'threads') return below === 'runs' ? 'runs' : undefined;
  if (kind === 'responses') return id === null && below === 'compact' ? 'compact' : undefined;
  if (kind === 'evals') return below === 'runs' ? 'other' : undefined;
  return isMaker && asksLater.has(kind) ? 'other' : undefined;
}

/** Of these nobody knows what they use before they are over. */
const asksLater: ReadonlySet<OwnedPath['kind']> = new Set([
  ...(['batches', 'message_batches', 'fine_tuning_jobs', 'videos'] as const),
]);
