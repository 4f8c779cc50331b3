/** Verifies that sync takes an allowance for outages back when the manifest no longer declares it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestServer } from '../../../support/server/server.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const key = (allowance: string): string => `
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec:
  scopes: [logs.list]
  usageLimits: {creditLimit: 500${allowance}}
`;

async function budget() {
  const { body } = await server.request('GET', '/v2/api-keys');
  const { id } = body.data.find((one: { name: string }) => one.name === 'bot');
  return (await server.request('GET', `/v2/api-keys/${id}`)).body.usage_limits;
}

it('removes an allowance that is dropped from the manifest, and changes nothing afterwards', async () => {
  expect((await sync.cycle(key(', onOutageAllowance: 30'))).ending).toBe('success');
  expect(await budget()).toMatchObject({ credit_limit: 500, on_outage_allowance: 30 });
  expect((await sync.cycle(key(''))).ending).toBe('success');
  expect((await budget()).on_outage_allowance ?? null).toBeNull();
  const idle = await sync.cycle(key(''));
  expect(idle).toMatchObject({ ending: 'success', plan: { changes: [] } });
});
