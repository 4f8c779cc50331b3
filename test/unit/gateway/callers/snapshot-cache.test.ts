/** Verifies which cached values are used while a read fails. */
import { expect, it, onTestFinished } from 'vitest';
import { Generations } from '../../../../src/gateway/callers/generations.ts';
import { SnapshotCache } from '../../../../src/gateway/callers/snapshot-cache.ts';
import {
  DatabaseUnavailable,
  isUnavailable,
} from '../../../../src/store/connection/unavailable.ts';

const organisationId = 'one';

/** A cache whose polls find `polled`, beside a sealed snapshot of the generation `held`. */
async function cacheAfterChange(polled: string, held: string) {
  const generations = new Generations({
    load: async () => new Map([[organisationId, polled]]),
    pollMs: 60_000,
    idlePollMs: 60_000,
    graceMs: 60_000,
    onFailure: () => undefined,
    onChange: () => undefined,
    configuration: {
      isDatabaseAway: () => true,
      suspectDatabase: () => undefined,
      hasSnapshot: () => true,
      snapshotGeneration: () => held,
    },
  });
  onTestFinished(() => generations.close());
  const cache = new SnapshotCache<string>(generations, { entriesMax: 10, isUnavailable });
  await cache.get('key', async () => ({ organisationId, generation: 'first', value: 'cached' }));
  await generations.refresh();
  return cache;
}

const fails = () => Promise.reject(new DatabaseUnavailable('the snapshot lacks the value'));

it('uses the last value when the snapshot is older than the change that was polled', async () => {
  const cache = await cacheAfterChange('second', 'older');
  expect(await cache.get('key', fails)).toBe('cached');
});

it('refuses the last value when the snapshot contains the change that was polled', async () => {
  const cache = await cacheAfterChange('second', 'second');
  await expect(cache.get('key', fails)).rejects.toThrow('the snapshot lacks the value');
});
