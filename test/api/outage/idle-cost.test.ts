/** Counts what a gateway without requests asks of the database, in the bytes on the way, for few and many tenants. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { readServerTime } from '../../../src/store/connection/server-time.ts';
import {
  type CommandCounter,
  startCommandCounter,
} from '../../support/database/command-counter.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addTenant } from '../../support/server/tenant.ts';

const manyTenants = 150;

const started = new AsyncDisposableStack();
let server: TestServer;
let counter: CommandCounter;
let url: string;
let metricsUrl: string;
const keys: string[] = [];

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'idle-'));
  started.defer(() => rmSync(folder, { recursive: true, force: true }));
  const directory = (name: string) => ({
    directory: join(folder, name),
    maxAgeSeconds: null,
    isInBucket: false,
  });
  server = started.use(
    await startTestServer({
      settings: { snapshot: directory('builder') },
      components: ['admin', 'jobs'],
    }),
  );
  keys.push(await createKey(server));
  counter = started.use(await startCommandCounter());
  const gateway = started.use(
    await createApp(
      {
        ...server.settings,
        database: counter.lead(server.settings.database!),
        snapshot: directory('gateway'),
        logLevel: 'error',
      },
      { components: ['gateway', 'mcp'] },
    ),
  );
  const addresses = await gateway.listen();
  url = addresses.inferenceUrl!;
  metricsUrl = addresses.metricsUrl;
});
afterAll(() => started.disposeAsync());

async function createKey({ request }: { request: TestServer['request'] }): Promise<string> {
  const body = { name: 'caller', scopes: ['completions.write'] };
  const { body: made } = await request('POST', '/v1/api-keys/organisation/service', { body });
  return made.key;
}

async function useAllKeys(): Promise<void> {
  for (const key of keys) {
    const headers = { authorization: `Bearer ${key}` };
    const { status } = await exchange('GET', `${url}/v1/models`, undefined, headers);
    expect(status).not.toBe(401);
  }
}

async function heldOrganisations(): Promise<number> {
  const { body: text } = await exchange('GET', `${metricsUrl}/metrics`, undefined, {});
  return Number(/^gatewright_snapshot_organisations (\d+)$/m.exec(text as string)?.[1] ?? 0);
}

/** Milliseconds by the database, which the counter does not see, for so many commands of the gateway. */
async function timeOfCommands(count: number): Promise<number> {
  const { db } = server.database;
  counter.reset();
  await eventually(() => expect(counter.commands).toBeGreaterThan(0));
  counter.reset();
  const fromMs = await readServerTime(db);
  await eventually(() => expect(counter.commands).toBeGreaterThanOrEqual(count));
  return (await readServerTime(db)) - fromMs;
}

const commands = 6;
/** The counter is looked at from time to time, which shortens the measured time by less than this. */
const slackMs = 150;
const least = commands * 1_000 - slackMs;

/** Starts, requests and changes are followed by some commands; then it is idle for as long as nothing happens. */
async function expectIdleSoon(): Promise<void> {
  await eventually(async () =>
    expect(await timeOfCommands(commands)).toBeGreaterThanOrEqual(least),
  );
}

describe('a gateway without requests', () => {
  it('asks the database at most once a second before its first caller', async () => {
    await eventually(async () => expect(await heldOrganisations()).toBe(1));
    await expectIdleSoon();
  });

  it('asks it as often after callers of one organisation, and of many', async () => {
    await useAllKeys();
    await expectIdleSoon();
    while (keys.length < manyTenants) {
      const tenant = await addTenant(server, `tenant-${keys.length}`);
      keys.push(await createKey({ request: tenant.send }));
    }
    await useAllKeys();
    await eventually(async () => expect(await heldOrganisations()).toBe(manyTenants));
    await expectIdleSoon();
  });
});
