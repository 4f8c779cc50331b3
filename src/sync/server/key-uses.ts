/** Asks the server which keys are in use. */
import { z } from 'zod';
import type { AdminClient } from './client.ts';
import { ApiRefusal } from './refusal.ts';

/** Maximum number of keys in one request. */
const batchMax = 200;
/** A key used within this period counts as in use. */
const inUseMs = 30 * 86_400_000;

const KeyUses = z.object({
  data: z.array(z.object({ id: z.string(), last_used_at: z.iso.datetime().nullable() })),
});

/** Last use of each key in use, RFC 3339; null when the server does not report it. */
export type KeysInUse = ReadonlyMap<string, string | null>;

/**
 * Returns the keys that are in use at `now`, ms since the epoch. If the server does not report
 * uses, all keys count as in use.
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
 * Returns the last use of each key, RFC 3339, null for one that was never used; null in total from
 * a server that does not report uses.
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
    const entries = await ask(client, ids.slice(at, at + batchMax), signal);
    if (entries === null) return null;
    for (const { id, last_used_at: lastUsedAt } of entries) uses.set(id, lastUsedAt);
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
    const isUnsupported = error instanceof ApiRefusal && [403, 404, 405].includes(error.status);
    if (!isUnsupported) throw error;
    return null;
  }
}
