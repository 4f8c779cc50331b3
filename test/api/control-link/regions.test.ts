/** Verifies that regions with databases of their own serve, keep limits together, and go on while their home is away. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import {
  type LinkedGateway,
  type LinkedPlanes,
  startLinkedPlanes,
  type TestRegion,
} from '../../support/link/linked-gateway.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let planes: LinkedPlanes;
let east: TestRegion;
let west: TestRegion;
/** Two of the east, one of them without a database, and one of the west. */
let gateways: LinkedGateway[];
let config: string;

beforeAll(async () => {
  planes = await startLinkedPlanes();
  planes.upstream.script = (_, response) => sendJson(response, chatAnswer);
  const document = { provider: 'openai', api_key: 'sk-test', custom_host: planes.upstream.url };
  const body = { name: 'regions', config: document };
  config = (await planes.control.request('POST', '/v1/configs', { body })).body.data.slug;
  east = await planes.startRegion('east');
  west = await planes.startRegion('west');
  gateways = [east.gateway, await east.startLinked(), west.gateway];
});
afterAll(() => planes[Symbol.asyncDispose]());

async function createKey(more: object = {}): Promise<{ id: string; key: string }> {
  const body = { name: 'caller', scopes: ['completions.write'], ...more };
  const path = '/v1/api-keys/organisation/service';
  return (await planes.control.request('POST', path, { body })).body;
}

function ask(key: string, { inferenceUrl }: LinkedGateway): Promise<TestResponse> {
  const chat = {
    model: 'gpt-test',
    messages: [{ role: 'user', content: 'hello' }],
    max_tokens: 10,
  };
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-config': config };
  return exchange('POST', `${inferenceUrl}/v1/chat/completions`, chat, headers);
}

async function served(key: string, at: LinkedGateway): Promise<void> {
  await eventually(async () => expect((await ask(key, at)).status).toBe(200));
}

const statusesOf = (answers: readonly TestResponse[]) => answers.map(({ status }) => status);

describe('a region', () => {
  it('serves keys and configs of its home, and so does a gateway without a database behind it', async () => {
    const { id, key } = await createKey();
    for (const gateway of gateways) await served(key, gateway);
    await planes.control.request('DELETE', `/v1/api-keys/${id}`);
    // 503 while a key of its age could still be on its way to the gateway.
    for (const gateway of gateways)
      await eventually(async () => expect([401, 503]).toContain((await ask(key, gateway)).status));
  });

  it('holds a limit together with another region and its home, to the last request', async () => {
    const limit = 20;
    const { id, key } = await createKey({
      rate_limits: [{ type: 'requests', unit: 'rpw', value: limit }],
    });
    const home = { ...east.gateway, inferenceUrl: planes.control.inferenceUrl };
    for (const one of gateways) await served(key, one);
    const places = Array.from({ length: 2 * limit }, (_, at) => [...gateways, home][at % 4]!);
    const statuses = statusesOf(await Promise.all(places.map((place) => ask(key, place))));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    let admitted = gateways.length + statuses.filter((status) => status === 200).length;
    // On a busy machine a request is refused before all others have returned what they do not use.
    await eventually(async () => {
      const { status } = await ask(key, gateways[admitted % gateways.length]!);
      if (status === 200) admitted += 1;
      expect(admitted).toBe(limit);
    });
    for (const one of [...gateways, home]) expect((await ask(key, one)).status).toBe(429);
    expect(await requestsOf(id)).toBe(limit);
  });

  it.each(['cut', 'freeze'] as const)(
    'goes on with what it has borrowed after a %s of its link, and reports it afterwards',
    async (fault) => {
      const { id, key } = await createKey({
        usage_limits: { type: 'tokens', credit_limit: 100_000 },
      });
      const before = planes.upstream.reached.length;
      for (const one of gateways) await served(key, one);
      // Use from which the region learns how much to hold.
      for (let count = 0; count < 30; count += 1) await served(key, east.gateway);
      await eventually(async () => expect(await borrowedUnits(east)).toBeGreaterThan(100));
      east.link[fault]();
      const cut = await Promise.all(gateways.map((gateway) => ask(key, gateway)));
      expect(statusesOf(cut)).toEqual([200, 200, 200]);
      east.link.mend();
      const sent = planes.upstream.reached.length - before;
      const used = sent * chatAnswer.usage.total_tokens;
      await eventually(async () =>
        expect(await keyUnits(planes.control.database.db, id)).toBe(used),
      );
    },
  );

  it('keeps its log rows, and its home has the totals of all', async () => {
    const { id, key } = await createKey();
    for (const one of gateways) await served(key, one);
    await served(key, east.gateway);
    await eventually(async () => {
      expect(await rowsIn(east.database.database, id)).toBe(3);
      expect(await rowsIn(west.database.database, id)).toBe(1);
    });
    expect(await rowsIn(planes.control.database, id)).toBe(0);
    await eventually(async () => {
      const { requests } = await planes.control.database.db
        .selectFrom('request_totals')
        .select((eb) => eb.fn.sum<number>('requests').as('requests'))
        .where('api_key_id', '=', id)
        .where('status', '=', 200)
        .executeTakeFirstOrThrow();
      expect(Number(requests)).toBe(4);
    });
    const { control } = planes;
    const analytics = await control.request('GET', `/v1/analytics/summary?api_key_id=${id}`);
    expect(analytics.body).toMatchObject({ requests: 4 });
    const logs = await control.request('GET', `/v1/logs?api_key_id=${id}`);
    expect(logs.body).toMatchObject({ data: [], regions: ['east', 'west'] });
    const tomorrow = new Date(control.clock.now() + 86_400_000).toISOString();
    const path = `/v1/logs?time_of_generation_min=${tomorrow}&time_of_generation_max=${tomorrow}`;
    expect((await control.request('GET', path)).body).toMatchObject({ data: [], regions: [] });
  });
});

async function rowsIn({ db }: TestRegion['database']['database'], keyId: string): Promise<number> {
  const { n } = await db
    .selectFrom('request_logs')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('api_key_id', '=', keyId)
    .where('status', '=', 200)
    .executeTakeFirstOrThrow();
  return Number(n);
}

async function borrowedUnits({ database }: TestRegion): Promise<number> {
  const { units } = await database.database.db
    .selectFrom('region_loans')
    .select((eb) => eb.fn.sum<number>('units').as('units'))
    .executeTakeFirstOrThrow();
  return Number(units);
}

/** Requests of a key that have reached the provider, as the limit at home has counted them. */
async function requestsOf(keyId: string): Promise<number> {
  const { db } = planes.control.database;
  const counted = async () => {
    const row = await db
      .selectFrom('rate_counters')
      .select((eb) => eb.fn.sum<number>('used_units').as('used'))
      .where('subject_id', '=', idToBytes(keyId))
      .executeTakeFirstOrThrow();
    return Number(row.used);
  };
  await eventually(async () => expect(await counted()).toBeGreaterThanOrEqual(20));
  return counted();
}
