/** Guarantees what a look at an unchanged server costs: one request, few bytes, and none at all where they are kept. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Transport } from '../../../../src/sync/server/transport.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

/** As many as make the file worth keeping; what holds of them holds of ten thousand. */
const count = 200;
/** 10,000 resources in 1 MiB. */
const bytesOfOne = 104;

const manifests = Array.from({ length: count }, (_, at) =>
  [
    'apiVersion: gatewright.dev/v1',
    'kind: Config',
    `metadata: {name: routing-${at}}`,
    `spec: {config: {retry: {attempts: 3}, targets: [{provider: "@p${at % 7}", weight: 0.5}]}}`,
  ].join('\n'),
).join('\n---\n');

let server: TestServer;
let sync: SyncSetup;
let cacheFolder: string;
/** What answered a snapshot: its status, and the bytes that came. */
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

/** A run of its own, as of the command line. */
async function plan() {
  const client = sync.openClient({ cacheFolder });
  const { plan } = await sync.cycle(manifests, { client, act: false });
  expect([plan.changes, plan.unchanged]).toEqual([[], count]);
  return client.requests;
}

it('a plan without changes is a token and a snapshot, of so many bytes a resource', async () => {
  expect(await plan()).toBe(2);
  expect(answers).toEqual([[200, expect.any(Number)]]);
  expect(answers[0]![1]).toBeLessThan(count * bytesOfOne);
});

it('the next run is told 304 and finds the same, until something changes', async () => {
  await plan();
  expect(await plan()).toBe(2);
  expect(answers.slice(1)).toEqual([[304, 0]]);
  await server.request('POST', '/v2/configs', { body: { name: 'of another', config: {} } });
  await plan();
  await plan();
  expect(answers.slice(2).map(([status]) => status)).toEqual([200, 304]);
});

it('a kept snapshot that is damaged is read anew', async () => {
  await plan();
  for (const name of readdirSync(cacheFolder)) writeFileSync(join(cacheFolder, name), 'damaged');
  await plan();
  expect(answers.map(([status]) => status)).toEqual([200, 200]);
});
