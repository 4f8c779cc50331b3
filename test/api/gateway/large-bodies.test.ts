/** Verifies that large and unfinished bodies take bounded memory and are released when their connections end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../../support/network/raw-client.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';

const mebibyte = 1024 * 1024;
let inference: Inference;
let client: RawClient;
let keys: string[];

beforeAll(async () => {
  inference = await startInference({
    inference: { ...(await defaults()), bodiesBytesMax: 64 * mebibyte },
  });
  client = new RawClient(inference.server.inferenceUrl);
  keys = [];
  for (let at = 0; at < 3; at += 1) keys.push((await inference.addKey()).key);
});

afterAll(async () => {
  client[Symbol.dispose]();
  await inference[Symbol.asyncDispose]();
});

async function defaults() {
  const { readSettings } = await import('../../../src/settings.ts');
  return { ...readSettings({}, { cwd: '/nonexistent' }).inference, port: 0 };
}

/** Sends all of a body but its last byte. */
async function sendUnfinished(key: string, bytes: number): Promise<Socket> {
  const { port } = new URL(inference.server.inferenceUrl);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: ${bytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bytes - 1, 0x20));
  await once(socket, 'drain');
  return socket;
}

function send(key: string, bytes: number) {
  return client.send({
    method: 'POST',
    target: '/v1/chat/completions',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        provider: 'mock-upstream',
        custom_host: inference.upstream.url,
      }),
    },
    body: `{"model":"m","messages":[{"role":"user","content":"${'a'.repeat(bytes)}"}]}`,
  });
}

it('answers 503 with Retry-After beyond the share of a key, serves other keys, and releases what is abandoned', async () => {
  const sockets = [await sendUnfinished(keys[0]!, 31 * mebibyte)];
  const refused = await send(keys[0]!, 2 * mebibyte);
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect((await send(keys[1]!, 2 * mebibyte)).status).toBe(200);
  sockets.push(await sendUnfinished(keys[1]!, 31 * mebibyte));
  expect((await send(keys[2]!, 3 * mebibyte)).status).toBe(503);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => expect((await send(keys[0]!, 20 * mebibyte)).status).toBe(200));
  expect((await send(keys[2]!, 30 * mebibyte)).status).toBe(200);
});

it.each([
  ['escapes', `"${'\\n'.repeat(15 * mebibyte)}"`],
  ['nesting', '['.repeat(30 * mebibyte)],
  ['empty objects', `[${'{},'.repeat(10 * mebibyte)}{}]`],
])('rejects a body of 30 MiB of %s with 400 on every endpoint of models', async (_, value) => {
  for (const target of [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/v1/embeddings',
  ]) {
    const answer = await client.send({
      method: 'POST',
      target,
      headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
      body: `{"model":"m","input":${value},"messages":${value}}`.slice(0, 32 * mebibyte),
    });
    expect(answer.status).toBe(400);
  }
});

describe('a body of 2 MiB', () => {
  const words = 'some words '.repeat(200_000);

  it('reaches the provider with the texts that a guardrail has replaced', async () => {
    const { upstream } = inference;
    upstream.reached.length = 0;
    const guardrail = { 'default.regexReplace': { rule: 'secret', redactText: 'REDACTED' } };
    const content = [
      { type: 'text', text: words },
      { type: 'text', text: 'a secret' },
    ];
    const answer = await inference.chat(keys[0]!, {
      config: { input_guardrails: [guardrail] },
      params: { messages: [{ role: 'user', content }], seed: 1 },
    });
    expect(answer.status).toBe(200);
    const [sent] = upstream.reached.map(({ body }) => JSON.parse(body.toString()));
    expect(sent).toEqual({
      model: 'm',
      seed: 1,
      messages: [{ role: 'user', content: [content[0], { type: 'text', text: 'a REDACTED' }] }],
    });
  });

  it('is translated, limited and given parameters like a small one', async () => {
    const { upstream } = inference;
    const usage_limits = { type: 'tokens', credit_limit: 1_000_000_000 };
    const { key } = await inference.addKey({ usage_limits });
    const send = async (text: string) => {
      upstream.reached.length = 0;
      await inference.chat(key, {
        config: { provider: 'anthropic', override_params: { temperature: 0.5 } },
        params: { messages: [{ role: 'user', content: text }], seed: undefined },
      });
      const [sent] = upstream.reached.map(({ url, body }) => [url, JSON.parse(body.toString())]);
      expect(sent![1].messages[0].content).toEqual([{ type: 'text', text }]);
      return [sent![0], { ...sent![1], messages: [] }];
    };
    expect(await send(words)).toEqual(await send('a'));
  });
});

it.each([false, true])(
  'repeats the short settings only in the translated response to a request of 2 MiB (stream: %s)',
  async (stream) => {
    const url = `${inference.server.inferenceUrl}/v1/responses`;
    const usual = inference.upstream.script;
    const chunk = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] };
    if (stream) {
      inference.upstream.script = (_, response) => {
        response.setHeader('content-type', 'text/event-stream');
        response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
      };
    }
    const config = { provider: 'groq', custom_host: inference.upstream.url, api_key: 'k' };
    const answerTo = async (description: string) => {
      const tools = [{ type: 'function', name: 'f', parameters: {}, description }];
      const body = {
        model: 'm',
        input: 'x',
        store: false,
        user: 'u',
        temperature: 0.5,
        tools,
        stream,
      };
      const headers = {
        authorization: `Bearer ${keys[0]}`,
        'content-type': 'application/json',
        'x-gateway-config': JSON.stringify(config),
      };
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
      const text = await answer.text();
      const [line = ''] = text.split('\n').filter((one) => one.startsWith('data: '));
      return stream ? JSON.parse(line.slice('data: '.length)).response : JSON.parse(text);
    };
    const settings = { model: 'm', user: 'u', temperature: 0.5, store: false };
    const small = await answerTo('a');
    expect(small).toMatchObject({ ...settings, tools: [{ description: 'a' }] });
    const large = await answerTo('a'.repeat(2 * 1024 * 1024));
    inference.upstream.script = usual;
    expect(large).toMatchObject({ ...settings, tools: [], instructions: null });
  },
);

it('answers 404 for a body that names 70,000 foreign files, and 403 for one that names as many models', async () => {
  const shared = await inference.server.request('POST', '/v1/integrations', {
    body: {
      name: 'rules',
      ai_provider_id: 'openai',
      key: 'sk',
      configurations: { custom_host: inference.upstream.url },
      models: [{ slug: 'forbidden', enabled: false }],
    },
  });
  const workspace = await inference.server.request('POST', '/v2/workspaces', {
    body: { name: 'rules' },
  });
  const { body: provider } = await inference.server.request('POST', '/v1/providers', {
    body: { name: 'rules', integration_id: shared.body.id, workspace_id: workspace.body.id },
  });
  const { key } = await inference.addKey({ workspace_id: workspace.body.id });
  const many = (of: (at: number) => object) => Array.from({ length: 70_000 }, (_, at) => of(at));
  const ask = (path: string, params: object) =>
    inference.chat(key, {
      path,
      config: { provider: `@${provider.slug}`, custom_host: undefined },
      params,
    });
  const content = many((at) => ({ file_id: `f-${at}` }));
  const files = { messages: undefined, input: [{ role: 'user', content }] };
  expect(await ask('/v1/responses', files)).toMatchObject({ status: 404 });
  const models = await ask('/v1/chat/completions', { tools: many((at) => ({ model: `m${at}` })) });
  expect(models).toMatchObject({ status: 403, body: { error: { code: 'model_not_allowed' } } });
});
