/**
 * Verifies that the log states for each charged call where its price comes from, and in which
 * version.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { priceTableVersion } from '../../../src/model/pricing/price-origin.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';

let inference: Inference;
let workspaceId: string;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ id: workspaceId } = await post('/v2/workspaces', { name: 'Prices' }));
  ({ key } = await inference.addKey({ workspace_id: workspaceId }));
});
afterAll(() => inference[Symbol.asyncDispose]());

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

/** Creates an integration with a provider of the workspace. */
async function addProvider(slug: string, more: object): Promise<string> {
  const configurations = { custom_host: inference.upstream.url };
  const { id } = await post('/v1/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    key: 'sk',
    configurations,
    ...more,
  });
  await post('/v1/providers', { name: slug, slug, integration_id: id, workspace_id: workspaceId });
  return id;
}

async function loggedFor(provider: string, model: string) {
  const traceId = crypto.randomUUID();
  const headers = { 'x-gateway-provider': provider, 'x-gateway-trace-id': traceId };
  const answer = await inference.chat(key, { config: null, params: { model }, headers });
  expect(answer.status).toBe(200);
  await logIsWritten(inference.server);
  const { body } = await inference.server.request('GET', `/v1/logs?trace_id=${traceId}`);
  expect(body.data).toHaveLength(1);
  return body.data[0];
}

describe('the log entry of a charged call', () => {
  it('states the price table with its version, or the integration and the model that changed it', async () => {
    await addProvider('listed', {});
    expect(await loggedFor('@listed', 'gpt-4o')).toMatchObject({
      price_source: 'table',
      price_version: priceTableVersion,
    });
    expect(await loggedFor('@listed', 'unknown-model')).toMatchObject({
      price_source: null,
      price_version: null,
      cost: 0,
    });
    await addProvider('adjusted', { pricing_adjustments: { multiplier: { default: 2 } } });
    const adjusted = await loggedFor('@adjusted', 'gpt-4o');
    expect(adjusted.price_source).toBe('integration');
    expect(adjusted.price_version).toMatch(/^adjusted@\d+, genai-prices /);
    const id = await addProvider('own', {});
    const own = { request_token: { price: 1 }, response_token: { price: 2 } };
    const setPrices = async (): Promise<void> => {
      const pricing_config = { pay_as_you_go: own };
      const body = { models: [{ slug: 'own-model', enabled: true, pricing_config }] };
      const path = `/v1/integrations/${id}/models`;
      expect((await inference.server.request('PUT', path, { body })).status).toBe(200);
    };
    await setPrices();
    const first = await loggedFor('@own', 'own-model');
    expect(first.price_source).toBe('model');
    expect(first.price_version).toMatch(/^own@\d+$/);
    own.request_token.price = 3;
    await setPrices();
    const version = ({ price_version }: { price_version: string }): number =>
      Number(price_version.split('@')[1]);
    await expect
      .poll(async () => version(await loggedFor('@own', 'own-model')))
      .toBeGreaterThan(version(first));
  });

  it('states the price of an earlier attempt beside its cost', async () => {
    await addProvider('first', { pricing_adjustments: { multiplier: { default: 3 } } });
    await addProvider('second', {});
    const { upstream } = inference;
    const usual = upstream.script;
    let calls = 0;
    upstream.script = (one, response) => {
      calls += 1;
      if (calls > 1) return usual(one, response);
      response.destroy();
    };
    const traceId = crypto.randomUUID();
    const config = {
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@first' }, { provider: '@second' }],
    };
    const headers = {
      'x-gateway-trace-id': traceId,
      'x-gateway-config': JSON.stringify(config),
    };
    const params = { model: 'gpt-4o' };
    expect((await inference.chat(key, { config: null, headers, params })).status).toBe(200);
    await logIsWritten(inference.server);
    const { body } = await inference.server.request('GET', `/v1/logs?trace_id=${traceId}`);
    expect(body.data[0]).toMatchObject({
      price_source: 'table',
      earlier_attempts: [{ provider: '@first', price_source: 'integration' }],
    });
    expect(body.data[0].earlier_attempts[0].price_version).toMatch(/^first@\d+, genai-prices /);
  });
});
