/** Looks up how many tokens a model reads at most, in the published price table. */
import { servicesInTable } from './price-table.ts';

const modelCharsMax = 256;
const cacheEntriesMax = 1_000;
const cache = new Map<string, number | null>();

/** Null for a model whose context window is unknown. `now` in milliseconds since the epoch. */
export async function knownContextWindow(
  service: string,
  model: string | null,
  now: number,
): Promise<number | null> {
  const providerId = servicesInTable.get(service);
  if (providerId === undefined || model === null || model.length > modelCharsMax) return null;
  const key = `${providerId} ${model}`;
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const { calcPrice } = await import('@pydantic/genai-prices');
  const window = windowIn(() => calcPrice({}, model, { providerId, timestamp: new Date(now) }));
  if (cache.size === cacheEntriesMax) cache.delete(cache.keys().next().value!);
  cache.set(key, window);
  return window;
}

type Entry = { readonly model?: { readonly context_window?: number | undefined } } | null;

function windowIn(look: () => Entry): number | null {
  try {
    return look()?.model?.context_window ?? null;
  } catch {
    // Treats an unreadable entry as an unknown model.
    return null;
  }
}
