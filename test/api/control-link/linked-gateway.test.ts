/** Verifies that gateways without a database serve by what their control plane sends them, and give back usage and logs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LinkedGateway,
  type LinkedPlanes,
  startLinkedPlanes,
} from '../../support/link/linked-gateway.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let planes: LinkedPlanes;
let gateway: LinkedGateway;
let config: string;

beforeAll(async () => {
  planes = await startLinkedPlanes();
  planes.upstream.script = (_, response) => sendJson(response, chatAnswer);
  const document = {
    provider: 'openai',
    api_key: 'sk-canary-of-link',
    custom_host: planes.upstream.url,
  };
  const body = { name: 'linked', config: document };
  config = (await planes.control.request('POST', '/v1/configs', { body })).body.data.slug;
  gateway = await planes.startGateway();
});
afterAll(() => planes[Symbol.asyncDispose]());

async function createKey(more: object = {}): Promise<{ id: string; key: string }> {
  const body = { name: 'caller', scopes: ['completions.write'], ...more };
  const path = '/v1/api-keys/organisation/service';
  return (await planes.control.request('POST', path, { body })).body;
}

function ask(key: string, { inferenceUrl } = gateway): Promise<TestResponse> {
  const chat = {
    model: 'gpt-test',
    messages: [{ role: 'user', content: 'hello' }],
    max_tokens: 10,
  };
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-config': config };
  return exchange('POST', `${inferenceUrl}/v1/chat/completions`, chat, headers);
}

/** Waits until the key has reached the gateway. */
async function served(key: string, at = gateway): Promise<void> {
  await eventually(async () => expect((await ask(key, at)).status).toBe(200));
}

describe('a linked gateway', () => {
  it('serves keys, configs and secrets of the control plane, and is ready', async () => {
    const { key } = await createKey();
    await served(key);
    expect(await gateway.ready()).toMatchObject({ status: 200, body: { status: 'ok' } });
    const answer = await ask(key);
    expect(answer.headers['x-gateway-config-age']).toBeUndefined();
    const sent = planes.upstream.reached.at(-1)!;
    expect(sent.headers.authorization).toBe('Bearer sk-canary-of-link');
    expect(gateway.logLines.join('')).not.toContain('sk-canary-of-link');
  });

  it('refuses a key that was revoked, soon after', async () => {
    const { id, key } = await createKey();
    await served(key);
    await planes.control.request('DELETE', `/v1/api-keys/${id}`);
    // 503 while a key of its age could still be on its way to the gateway.
    await eventually(async () => expect([401, 503]).toContain((await ask(key)).status));
  });

  it('holds a budget together with a second linked gateway and one with the database', async () => {
    const other = await planes.startGateway();
    const limit = 20;
    const { key } = await createKey({
      rate_limits: [{ type: 'requests', unit: 'rpw', value: limit }],
    });
    const own = { ...gateway, inferenceUrl: planes.control.inferenceUrl };
    for (const one of [gateway, other]) await served(key, one);
    const places = Array.from({ length: 2 * limit }, (_, at) => [gateway, other, own][at % 3]!);
    const answers = await Promise.all(places.map((place) => ask(key, place)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(limit - 2);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  it('gives its log rows to the control plane, each once', async () => {
    const { id, key } = await createKey();
    await served(key);
    for (let count = 0; count < 3; count += 1) expect((await ask(key)).status).toBe(200);
    const sent = 4;
    await eventually(async () => {
      const { n } = await planes.control.database.db
        .selectFrom('request_logs')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('api_key_id', '=', id)
        .where('status', '=', 200)
        .executeTakeFirstOrThrow();
      expect(Number(n)).toBeGreaterThanOrEqual(sent);
    });
  });

  it('refuses at once, with the reason, what needs a database', async () => {
    const { key } = await createKey();
    await served(key);
    const headers = { authorization: `Bearer ${key}` };
    const files = await exchange('GET', `${gateway.inferenceUrl}/v1/files`, undefined, headers);
    expect(files.status).toBe(503);
    expect(JSON.stringify(files.body)).toContain('this gateway has none of its own');
  });
});
