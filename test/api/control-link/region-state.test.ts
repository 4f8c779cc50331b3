/** Verifies what a region reports and does while its own database, its home, or both are away. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LinkedGateway,
  type LinkedPlanes,
  startLinkedPlanes,
  type TestRegion,
} from '../../support/link/linked-gateway.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const ofDatabase = expect.stringMatching(/^the region's database does not answer; limits go on/);
const ofHome = expect.stringMatching(/^the home of this region does not answer; the gateway/);

let planes: LinkedPlanes;
let region: TestRegion;
let key: string;
let config: string;

beforeAll(async () => {
  planes = await startLinkedPlanes();
  planes.upstream.script = (_, response) => sendJson(response, chatAnswer);
  const document = { provider: 'openai', api_key: 'sk-test', custom_host: planes.upstream.url };
  const body = { name: 'state', config: document };
  config = (await planes.control.request('POST', '/v1/configs', { body })).body.data.slug;
  const path = '/v1/api-keys/organisation/service';
  const made = { name: 'caller', scopes: ['completions.write'] };
  key = (await planes.control.request('POST', path, { body: made })).body.key;
  region = await planes.startRegion('east');
});
afterAll(() => planes[Symbol.asyncDispose]());

async function chatStatus({ inferenceUrl }: LinkedGateway): Promise<number> {
  const chat = { model: 'gpt-test', messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 };
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-config': config };
  return (await exchange('POST', `${inferenceUrl}/v1/chat/completions`, chat, headers)).status;
}

/** Values of the metrics that tell what is reachable; null for a metric that the process lacks. */
async function reachable({ metricsUrl }: LinkedGateway) {
  const { body } = await exchange('GET', `${metricsUrl}/metrics`, undefined, {});
  const gauge = (name: string) => {
    const found = new RegExp(`^${name} (\\d)$`, 'm').exec(body);
    return found && Number(found[1]);
  };
  return {
    database: gauge('gatewright_database_reachable'),
    home: gauge('gatewright_control_plane_reachable'),
  };
}

async function ready(gateway: LinkedGateway) {
  const { status, body } = await gateway.ready();
  return { code: status, ...body };
}

const sound = { code: 200, status: 'ok', reasons: [] };

async function logRows(): Promise<number> {
  const { n } = await region.database.database.db
    .selectFrom('request_logs')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return Number(n);
}

describe('a region', () => {
  it('is ready, and shows that its database and its home are reachable', async () => {
    await eventually(async () => expect(await chatStatus(region.gateway)).toBe(200));
    await eventually(async () => expect(await ready(region.gateway)).toEqual(sound));
    expect(await reachable(region.gateway)).toEqual({ database: 1, home: 1 });
  });

  it('serves without its database, says so, and writes its log rows afterwards', async () => {
    await eventually(async () => expect(await logRows()).toBe(1));
    region.databaseLink.cut();
    const without = { code: 200, status: 'degraded', reasons: [ofDatabase] };
    await eventually(async () => expect(await ready(region.gateway)).toEqual(without));
    expect(await reachable(region.gateway)).toEqual({ database: 0, home: 1 });
    expect(await chatStatus(region.gateway)).toBe(200);
    region.databaseLink.mend();
    await eventually(async () => expect(await logRows()).toBe(2));
    await eventually(async () => expect(await ready(region.gateway)).toEqual(sound));
  });

  it('names its database and its home apart while both are away', async () => {
    region.databaseLink.cut();
    region.link.cut();
    const both = { code: 200, status: 'degraded', reasons: [ofHome, ofDatabase] };
    await eventually(async () => expect(await ready(region.gateway)).toEqual(both));
    expect(await reachable(region.gateway)).toEqual({ database: 0, home: 0 });
    expect(await chatStatus(region.gateway)).toBe(200);
    region.databaseLink.mend();
    const without = { code: 200, status: 'degraded', reasons: [ofHome] };
    await eventually(async () => expect(await ready(region.gateway)).toEqual(without));
    expect(await reachable(region.gateway)).toEqual({ database: 1, home: 0 });
    region.link.mend();
    await eventually(async () => expect(await ready(region.gateway)).toEqual(sound));
  });

  it('starts while its database is away, serves by its home, and uses the database later', async () => {
    region.databaseLink.cut();
    const gateway = await region.openGateway();
    expect((await ready(gateway)).code).toBe(503);
    await expect(gateway.connect()).rejects.toThrow();
    await eventually(async () => expect(await chatStatus(gateway)).toBe(200));
    const without = { code: 200, status: 'degraded', reasons: [ofDatabase] };
    await eventually(async () => expect(await ready(gateway)).toEqual(without));
    expect(await reachable(gateway)).toEqual({ database: 0, home: 1 });
    const before = await logRows();
    region.databaseLink.mend();
    await eventually(() => gateway.connect());
    await eventually(async () => expect(await ready(gateway)).toEqual(sound));
    await eventually(async () => expect(await logRows()).toBe(before + 1));
  });
});

it('is no part of what a gateway without a database shows', async () => {
  const gateway = await planes.startGateway();
  await eventually(async () => expect(await ready(gateway)).toEqual(sound));
  expect(await reachable(gateway)).toEqual({ database: null, home: 1 });
});
