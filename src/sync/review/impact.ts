/** Determines what a plan affects, and when that was last used. */
import { findAffected, type Impacts, summarizeImpact } from '../plan/impact.ts';
import type { Plan } from '../plan/plan-model.ts';
import type { AdminClient } from '../server/client.ts';
import { readLastUses } from '../server/key-uses.ts';

/** Further keys are counted but not queried. */
const queriedKeysMax = 1_000;

/**
 * Returns the impact of each change, with one request for each 200 keys and none when no key is
 * affected.
 *
 * @throws what the client throws
 */
export async function readImpacts(
  client: AdminClient,
  plan: Plan,
  signal?: AbortSignal,
): Promise<Impacts> {
  const reach = findAffected(plan);
  const keys = [...reach.values()].flat().filter(({ identity }) => identity.kind === 'ApiKey');
  const ids = [...new Set(keys.map(({ id }) => id))].slice(0, queriedKeysMax);
  const uses = (await readLastUses(client, ids, signal)) ?? new Map();
  return new Map([...reach].map(([id, reached]) => [id, summarizeImpact(reached, uses)]));
}
