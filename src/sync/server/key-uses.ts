/** Knows how the server is asked which keys are in use. */
import { z } from 'zod';
import type { AdminClient } from './client.ts';
import { ApiRefusal } from './refusal.ts';

/** As many as the server takes at once. */
const batchMax = 200;
/** A key that was used within this time is in use. */
const inUseMs = 30 * 86_400_000;

const KeyUses = z.object({
  data: z.array(z.object({ id: z.string(), last_used_at: z.iso.datetime().nullable() })),
});

/** Of each key that is in use when it was used last, RFC 3339; null where the server does not tell. */
export type KeysInUse = ReadonlyMap<string, string | null>;

/**
 * Those of these keys that are in use at `now`, ms since the epoch. A server that does not tell counts
 * as one on which all are.
 *
 * @throws what the client throws
 */
export async function readKeysInUse(
  client: AdminClient,
  ids: readonly string[],
  now: number,
  signal?: AbortSignal,
): Promise<KeysInUse> {
  const inUse = new Map<string, string | null>();
  for (let at = 0; at < ids.length; at += batchMax) {
    const batch = ids.slice(at, at + batchMax);
    for (const [id, lastUsedAt] of await ask(client, batch, signal)) {
      const isRecent = lastUsedAt === null || Date.parse(lastUsedAt) > now - inUseMs;
      if (isRecent) inUse.set(id, lastUsedAt);
    }
  }
  return inUse;
}

/** Those that were ever used. */
async function ask(
  client: AdminClient,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<(readonly [string, string | null])[]> {
  try {
    const { body } = await client.request({
      method: 'POST',
      path: '/admin/v2/gatewright/sync/key-uses',
      body: { ids },
      countsAsWrite: false,
      signal,
    });
    return KeyUses.parse(body).data.flatMap(({ id, last_used_at: at }) =>
      at === null ? [] : [[id, at] as const],
    );
  } catch (error) {
    const isUntold = error instanceof ApiRefusal && [403, 404, 405].includes(error.status);
    if (!isUntold) throw error;
    return ids.map((id) => [id, null] as const);
  }
}
