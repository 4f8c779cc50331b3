/** Verifies that every gateway observes each change of what it reads once, by the clock of the database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { read } from '../../../src/store/rows/snapshot-marks.ts';
import { Description, type Operation } from '../../support/interface/response-check.ts';
import { RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

interface Gateway {
  readonly inferenceUrl: string;
  readonly metricsUrl: string;
}

/** Changes of all kinds that gateways read. */
const creates = [
  '/v1/api-keys/{type}/{subType}',
  '/v1/configs',
  '/v1/guardrails',
  '/v1/policies/usage-limits',
  '/v1/policies/rate-limits',
  '/v1/integrations',
  '/v1/providers',
  '/v1/mcp-integrations',
  '/v1/mcp-servers',
  '/v1/prompts',
];

const started = new AsyncDisposableStack();
let server: TestServer;
let gateways: readonly Gateway[];
let requests: RightRequests;
let operations: readonly Operation[];

beforeAll(async () => {
  server = started.use(await startTestServer());
  // A gateway whose own clock is wrong by ten minutes.
  const clock = {
    now: () => Date.now() + 600_000,
    monotonicMs: () => performance.now(),
  };
  const settings = { ...server.settings, logLevel: 'error' as const };
  const beside = started.use(await createApp(settings, { clock, components: ['gateway'] }));
  const addresses = await beside.listen();
  gateways = [
    { inferenceUrl: server.inferenceUrl, metricsUrl: server.metricsUrl },
    { inferenceUrl: addresses.inferenceUrl!, metricsUrl: addresses.metricsUrl },
  ];
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  requests = new RightRequests(server, description, await server.token(), (faults) =>
    expect(faults).toEqual([]),
  );
  await requests.furnish();
  operations = description.operations;
  await holdOrganisation();
});
afterAll(() => started.disposeAsync());

/** Lets every gateway read something of the organisation, so that it looks for its changes. */
async function holdOrganisation(): Promise<void> {
  const body = { name: 'caller', scopes: ['completions.write'] };
  const { body: made } = await server.request('POST', '/v1/api-keys/organisation/service', {
    body,
  });
  const headers = { authorization: `Bearer ${made.key}` };
  for (const { inferenceUrl } of gateways) {
    const { status } = await exchange('GET', `${inferenceUrl}/v1/models`, undefined, headers);
    expect(status).not.toBe(401);
  }
  // Observes the changes before, if any is so recent.
  await changeConfig();
  await everyGatewayObserves((count) => count > 0);
}

async function changeConfig(): Promise<void> {
  const body = { name: 'changed', config: { cache: { mode: 'simple' } } };
  const { status } = await server.request('POST', '/v1/configs', { body });
  expect(status).toBe(200);
}

/** Number of observed changes of a gateway, of those up to an elapsed time in seconds, or all. */
async function observed({ metricsUrl }: Gateway, seconds = '+Inf'): Promise<number> {
  const { body: text } = await exchange('GET', `${metricsUrl}/metrics`, undefined, {});
  const name = `gatewright_config_propagation_seconds_bucket{le="${seconds}"}`;
  const line = (text as string).split('\n').find((one) => one.startsWith(name));
  return Number(line?.slice(name.length) ?? 0);
}

function everyGatewayObserves(isEnough: (count: number, at: number) => boolean): Promise<void> {
  return eventually(async () => {
    for (const [at, gateway] of gateways.entries()) {
      expect(isEnough(await observed(gateway), at)).toBe(true);
    }
  });
}

const allObserved = (): Promise<number[]> =>
  Promise.all(gateways.map((gateway) => observed(gateway)));

const marks = async (): Promise<Set<string>> =>
  new Set((await read(server.database.db, server.organisationId)).split(','));

describe('a change by the Admin API', () => {
  it.each(creates)('is observed once by every gateway: POST %s', async (path) => {
    const one = operations.find((o) => o.path === path && o.method.toUpperCase() === 'POST');
    expect(one, path).toBeDefined();
    const place = await requests.place(one!);
    await everyGatewayIsSettled();
    const [before, marksBefore] = [await allObserved(), await marks()];
    const { status } = await requests.ask(one!, place, requests.right(one!));
    expect(status).toBeLessThan(300);
    const changes = (await marks()).difference(marksBefore).size;
    expect(changes).toBe(1);
    await everyGatewayObserves((count, at) => count === before[at]! + 1);
    await everyGatewayIsSettled();
    // The change and the one by which everyGatewayIsSettled waits.
    expect(await allObserved()).toEqual(before.map((count) => count + 2));
  });

  it('is measured by the clock of the database in a gateway whose own clock is wrong', async () => {
    const [all, soon] = [await observed(gateways[1]!), await observed(gateways[1]!, '300')];
    expect(all).toBeGreaterThan(0);
    expect(soon).toBe(all);
  });
});

/** Waits until a change made now is observed, so that all before are. */
async function everyGatewayIsSettled(): Promise<void> {
  const before = await allObserved();
  await changeConfig();
  await everyGatewayObserves((count, at) => count > before[at]!);
}
