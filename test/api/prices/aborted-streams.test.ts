/**
 * Verifies what a stream is charged whose provider reports no usage: the text that arrived, or
 * everything reserved where the setting says so.
 */
import { request as open } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { testSettings } from '../../support/server/server.ts';

let inference: Inference;
beforeAll(async () => {
  inference = await startInference();
});
afterAll(() => inference[Symbol.asyncDispose]());

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const chatEvent = (content: string) => event({ choices: [{ index: 0, delta: { content } }] });
const budget = { usage_limits: { type: 'tokens', credit_limit: 100_000 } };

async function chargedAndLogged(id: string, { server } = inference) {
  await logIsWritten(server);
  const { body } = await server.request('GET', `/v1/logs?api_key_id=${id}`);
  expect(body.data).toHaveLength(1);
  const [{ input_tokens, output_tokens, cached_input_tokens, is_estimated }] = body.data;
  await eventually(async () => {
    const units = await keyUnits(server.database.db, id);
    expect(units).toBe(input_tokens + output_tokens);
  });
  return { input_tokens, output_tokens, cached_input_tokens, is_estimated };
}

/** Requests a stream that breaks off after these events; returns the length of the sent body. */
async function breakOff(events: string, { path, params, key, at = inference }: BrokenStream) {
  at.upstream.reached.length = 0;
  at.upstream.script = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events, () => response.destroy());
  };
  const options = {
    params: { max_tokens: 5_000, stream: true, stream_options: { include_usage: true }, ...params },
    ...path,
  };
  await at.chat(key, options).catch(() => undefined);
  return at.upstream.reached[0]!.body.length;
}

interface BrokenStream {
  readonly path?: { readonly path: string; readonly config: object };
  readonly params?: object;
  readonly key: string;
  readonly at?: Inference;
}

describe('a stream that breaks off without a usage report', () => {
  it('is charged the text that arrived beside the bound of the input, marked as an estimate', async () => {
    const { key, id } = await inference.addKey(budget);
    const length = await breakOff(chatEvent('a'.repeat(30)) + chatEvent('b'.repeat(30)), { key });
    expect(await chargedAndLogged(id)).toMatchObject({
      input_tokens: length,
      output_tokens: 20,
      is_estimated: true,
    });
  });

  it('is charged the input that the provider has reported by then, from its cache too', async () => {
    const { key, id } = await inference.addKey(budget);
    const usage = { input_tokens: 7, cache_read_input_tokens: 100, output_tokens: 1 };
    const events = [
      event({ type: 'message_start', message: { model: 'm', usage } }),
      event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a'.repeat(90) } }),
    ];
    const path = { path: '/v1/messages', config: { provider: 'anthropic' } };
    await breakOff(events.join(''), { key, path });
    expect(await chargedAndLogged(id)).toEqual({
      input_tokens: 107,
      output_tokens: 30,
      cached_input_tokens: 100,
      is_estimated: true,
    });
  });

  it('is charged more than the visible text where the model may think in hiding, within the grant', async () => {
    const { key, id } = await inference.addKey(budget);
    const params = { reasoning_effort: 'high' };
    await breakOff(chatEvent('a'.repeat(30)), { key, params });
    const { output_tokens } = await chargedAndLogged(id);
    expect(output_tokens).toBeGreaterThan(10);
    expect(output_tokens).toBeLessThanOrEqual(5_000);
  });

  it('is charged everything reserved where the setting says so', async () => {
    const settings = { ...testSettings().inference, countsAbortedStreams: false };
    await using strict = await startInference({ inference: settings });
    const { key, id } = await strict.addKey(budget);
    const length = await breakOff(chatEvent('a'.repeat(30)), { key, at: strict });
    expect(await chargedAndLogged(id, strict)).toMatchObject({
      input_tokens: length,
      output_tokens: 5_000,
      is_estimated: true,
    });
  });
});

describe('a stream that an error ends', () => {
  it('is charged the text before it, not the count of its beginning', async () => {
    const { key, id } = await inference.addKey(budget);
    const { upstream } = inference;
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const usage = { input_tokens: 7, output_tokens: 1 };
      response.write(event({ type: 'message_start', message: { model: 'm', usage } }));
      const delta = { type: 'text_delta', text: 'a'.repeat(90) };
      response.write(event({ type: 'content_block_delta', delta }));
      response.end(event({ type: 'error', error: { type: 'overloaded_error', message: '' } }));
    };
    const params = { stream: true, max_tokens: 5_000 };
    await inference.chat(key, { path: '/v1/messages', config: { provider: 'anthropic' }, params });
    expect(await chargedAndLogged(id)).toMatchObject({
      input_tokens: 7,
      output_tokens: 30,
      is_estimated: true,
    });
  });
});

describe('a stream whose caller disconnects', () => {
  it('is charged all text that arrives until the provider ends it', async () => {
    const { key, id } = await inference.addKey(budget);
    const gone = Promise.withResolvers<void>();
    inference.upstream.script = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chatEvent('a'.repeat(30)));
      await gone.promise;
      response.write(chatEvent('b'.repeat(60)), () => response.destroy());
    };
    const { port } = new URL(inference.server.inferenceUrl);
    const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
    };
    const asking = open({ port, path: '/v1/chat/completions', method: 'POST', headers });
    asking.on('error', () => {});
    asking.end(JSON.stringify({ model: 'm', messages: [], max_tokens: 5_000, stream: true }));
    await new Promise<void>((resolve) =>
      asking.once('response', (response) => response.once('data', () => resolve())),
    );
    asking.destroy();
    gone.resolve();
    await eventually(async () =>
      expect(await keyUnits(inference.server.database.db, id)).toBeGreaterThan(0),
    );
    expect(await chargedAndLogged(id)).toMatchObject({ output_tokens: 30, is_estimated: true });
  });
});
