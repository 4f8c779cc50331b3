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
  const uses = await readLastUses(client, ids, signal);
  if (uses === null) return new Map(ids.map((id) => [id, null]));
  const recent = [...uses].filter(([, at]) => at !== null && Date.parse(at) > now - inUseMs);
  return new Map(recent);
}

/**
 * When each of these keys was used last, RFC 3339, null for one that never was; null from a server that
 * does not tell.
 *
 * @throws what the client throws
 */
export async function readLastUses(
  client: AdminClient,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string | null> | null> {
  const uses = new Map<string, string | null>();
  for (let at = 0; at < ids.length; at += batchMax) {
    const told = await ask(client, ids.slice(at, at + batchMax), signal);
    if (told === null) return null;
    for (const { id, last_used_at: lastUsedAt } of told) uses.set(id, lastUsedAt);
  }
  return uses;
}

async function ask(
  client: AdminClient,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<z.infer<typeof KeyUses>['data'] | null> {
  try {
    const { body } = await client.request({
      method: 'POST',
      path: '/admin/v2/gatewright/sync/key-uses',
      body: { ids },
      countsAsWrite: false,
      signal,
    });
    return KeyUses.parse(body).data;
  } catch (error) {
    const isUntold = error instanceof ApiRefusal && [403, 404, 405].includes(error.status);
    if (!isUntold) throw error;
    return null;
  }
}
