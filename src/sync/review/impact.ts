/** Knows how it is found out what a plan reaches, and when that was used last. */
import { type Impacts, impactOf, reachOf } from '../plan/impact.ts';
import type { Plan } from '../plan/planned.ts';
import type { AdminClient } from '../server/client.ts';
import { readLastUses } from '../server/key-uses.ts';

/** More keys than this are counted and not asked about. */
const keysAskedMax = 1_000;

/**
 * What each change of a plan reaches. One request for each two hundred keys, and none where no key is reached.
 *
 * @throws what the client throws
 */
export async function readImpacts(
  client: AdminClient,
  plan: Plan,
  signal?: AbortSignal,
): Promise<Impacts> {
  const reach = reachOf(plan);
  const keys = [...reach.values()].flat().filter(({ identity }) => identity.kind === 'ApiKey');
  const ids = [...new Set(keys.map(({ id }) => id))].slice(0, keysAskedMax);
  const uses = (await readLastUses(client, ids, signal)) ?? new Map();
  return new Map([...reach].map(([id, reached]) => [id, impactOf(reached, uses)]));
}
