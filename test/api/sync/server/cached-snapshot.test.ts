/**
 * Verifies the cost of reading an unchanged server: one request, few bytes, and none with a cached
 * snapshot.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Transport } from '../../../../src/sync/server/transport.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

/** Enough resources for a cache file; the results apply to ten thousand as well. */
const count = 200;
/** Limit for 10,000 resources in 1 MiB. */
const bytesOfOne = 104;

const manifests = Array.from({ length: count }, (_, at) =>
  [
    'apiVersion: gatewright.dev/v1',
    'kind: Config',
    `metadata: {name: routing-${at}}`,
    `spec: {config: {retry: {attempts: 3}, targets: [{provider: "p${at % 7}", weight: 0.5}]}}`,
  ].join('\n'),
).join('\n---\n');

let server: TestServer;
let sync: SyncSetup;
let cacheFolder: string;
/** Status and received bytes of each snapshot response. */
let answers: (readonly [status: number, bytes: number])[];

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
  await sync.cycle(manifests);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  cacheFolder = mkdtempSync(join(tmpdir(), 'gatewright-cache-'));
  answers = [];
  const send = Transport.prototype.send;
  vi.spyOn(Transport.prototype, 'send').mockImplementation(async function (
    this: Transport,
    ...sent
  ) {
    const outcome = await send.apply(this, sent);
    if (sent[0].pathname.endsWith('/snapshot') && 'status' in outcome) {
      answers.push([outcome.status, outcome.coded?.bytes.length ?? 0]);
    }
    return outcome;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(cacheFolder, { recursive: true, force: true });
});

/** A separate run, like the command line. */
async function plan() {
  const client = sync.openClient({ cacheFolder });
  const { plan } = await sync.cycle(manifests, { client, act: false });
  expect([plan.changes, plan.unchanged]).toEqual([[], count]);
  return client.requests;
}

it('costs a token and a snapshot of few bytes per resource for a plan without changes', async () => {
  expect(await plan()).toBe(2);
  expect(answers).toEqual([[200, expect.any(Number)]]);
  expect(answers[0]![1]).toBeLessThan(count * bytesOfOne);
});

it('costs a 304 in the next run, with the same plan, until something changes', async () => {
  await plan();
  expect(await plan()).toBe(2);
  expect(answers.slice(1)).toEqual([[304, 0]]);
  await server.request('POST', '/v2/configs', { body: { name: 'of another', config: {} } });
  await plan();
  await plan();
  expect(answers.slice(2).map(([status]) => status)).toEqual([200, 304]);
});

it('reads the snapshot again when the cached one is damaged', async () => {
  await plan();
  for (const name of readdirSync(cacheFolder)) writeFileSync(join(cacheFolder, name), 'damaged');
  await plan();
  expect(answers.map(([status]) => status)).toEqual([200, 200]);
});
