/** Verifies convergence under faults: an abort at every request, lost responses, overload. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CycleResult } from '../../../../src/sync/cycle/cycle-options.ts';
import { type Fate, startFaultyProxy } from '../../../support/network/faulty-proxy.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { endLeases } from '../../../support/sync/lease.ts';
import { shareSync } from '../../../support/sync/shared-sync.ts';
import { everyKind, type SyncSetup, withoutSets } from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

shareSync((shared) => {
  ({ server, sync } = shared);
});

/** Kinds, names and specs on the server, without what differs between runs. */
async function stateOfServer(): Promise<string[]> {
  const { plan, deliveries } = await sync.cycle(everyKind, { act: false });
  expect(plan.changes).toEqual([]);
  expect(plan.blocked).toEqual([]);
  expect(deliveries.map(({ state }) => state)).toEqual(['delivered']);
  return [...plan.live].filter(([, live]) => live.owner === 'platform').map(([key]) => key);
}

function filesOfKeys(): string[] {
  return readdirSync(join(sync.secretsFolder, 'support'));
}

let requestsSeen = 0;

async function cycleThrough(
  fateOf: (index: number) => Fate,
  { takesSets }: Way = ways[0],
): Promise<CycleResult | Error> {
  await using proxy = await startFaultyProxy(server.url, fateOf);
  const opened = sync.openClient({
    adminBaseUrl: proxy.url,
    baseUrl: `${proxy.url}/v1`,
    authUrl: proxy.url,
  });
  const client = takesSets ? opened : withoutSets(opened);
  const result = await sync.cycle(everyKind, { client }).catch((error: Error) => error);
  requestsSeen = proxy.seen;
  // A killed run has not released its lease, which would expire within seconds.
  await endLeases(server);
  return result;
}

interface Way {
  readonly takesSets: boolean;
  /**
   * Token, snapshot, status, lease, snapshot and status again, the nine changes, the proof of the
   * key file, the revision, and the release of the lease.
   */
  readonly requests: number;
}

const ways = [
  { takesSets: true, requests: 9 },
  { takesSets: false, requests: 17 },
] as const satisfies readonly Way[];
/**
 * Only the writes of a run with single requests, because the others equal those of a run with
 * change sets.
 */
const everyRequest = [
  ...Array.from({ length: ways[0].requests }, (_, at) => [at + 1, 'set', ways[0]] as const),
  ...Array.from({ length: 9 }, (_, at) => [at + 6, 'single request', ways[1]] as const),
];

describe('a run under faults', () => {
  it.each(ways)(
    'needs exactly the number of requests at which the tests below abort: %j',
    async (way) => {
      await cycleThrough(() => 'pass', way);
      expect(requestsSeen).toBe(way.requests);
    },
  );

  it.each(everyRequest)(
    'is finished by the next run when it is killed before request %i arrives by %s',
    async (k, _, way) => {
      await cycleThrough((index) => (index === k ? 'dead' : 'pass'), way);
      expect(requestsSeen).toBeGreaterThanOrEqual(k);
      expect(await sync.cycle(everyKind)).toMatchObject({ ending: 'success' });
      expect(await stateOfServer()).toHaveLength(9);
      expect(filesOfKeys()).toEqual(['bot.key']);
    },
  );

  it.each(everyRequest)(
    'is finished without duplicates by the next run when it is killed after request %i was executed by %s',
    async (k, _, way) => {
      const fateOf = (index: number) => (index === k ? 'cut-after' : index > k ? 'dead' : 'pass');
      await cycleThrough(fateOf, way);
      expect(requestsSeen).toBeGreaterThanOrEqual(k);
      expect(await sync.cycle(everyKind)).toMatchObject({ ending: 'success' });
      expect(await stateOfServer()).toHaveLength(9);
      expect(filesOfKeys()).toEqual(['bot.key']);
    },
  );

  it.each(everyRequest)('survives the loss of response %i by %s', async (k, _, way) => {
    const result = await cycleThrough((index) => (index === k ? 'cut-after' : 'pass'), way);
    if (result instanceof Error) throw result;
    expect(result).toMatchObject({ ending: 'success' });
    expect(await stateOfServer()).toHaveLength(9);
    expect(filesOfKeys()).toEqual(['bot.key']);
  });

  it.each([1, 2, 3])(
    'converges through random rejections and aborts with seed %i',
    async (seed) => {
      let state = seed;
      const fates: Fate[] = [429, 503, 502, 'cut-before', 'cut-after'];
      const result = await cycleThrough(() => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
        const roll = state / 2_147_483_648;
        return roll < 0.2 ? fates[Math.floor(roll * 25)]! : 'pass';
      });
      if (!(result instanceof Error) && result.ending === 'success') {
        expect(await stateOfServer()).toHaveLength(9);
      }
      expect(await sync.cycle(everyKind)).toMatchObject({ ending: 'success' });
      expect(await stateOfServer()).toHaveLength(9);
    },
  );

  it('ends with exit code 6 when nothing listens', async () => {
    const client = sync.openClient({
      adminBaseUrl: 'http://127.0.0.1:1',
      authUrl: 'http://127.0.0.1:1',
    });
    await expect(sync.cycle(everyKind, { client })).rejects.toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('nothing listens there'),
    });
  });

  it('ends with exit code 6 and the client name when the secret is wrong', async () => {
    const { Secret } = await import('../../../../src/secret.ts');
    const client = sync.openClient({ clientSecret: new Secret('wrong', 'test') });
    await expect(sync.cycle(everyKind, { client })).rejects.toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining(server.clientId),
    });
  });
});
