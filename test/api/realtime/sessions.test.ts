/** Verifies that realtime sessions are opened, relayed and ended for callers of OpenAI's realtime API. */
import { connect } from 'node:net';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { sayText } from '../../support/upstream/realtime-provider.ts';

let realtime: RealtimeServer;
let key: string;

beforeAll(async () => {
  realtime = await startRealtime();
  ({ key } = await realtime.addKey());
});

afterAll(() => realtime[Symbol.asyncDispose]());

beforeEach(() => {
  const { provider } = realtime;
  provider.refusal = null;
  provider.firstEvent = null;
  provider.answer = (session) => sayText(provider, session, 'hello there');
});

describe('a realtime session', () => {
  it('passes events of both sides unchanged when nothing has to be checked', async () => {
    const opened = realtime.provider.next();
    const caller = await realtime.connect(key);
    const provider = await opened;
    await caller.event('session.created');
    caller.send({ type: 'something.new', value: 1 });
    await eventually(() =>
      expect(provider.received.at(-1)).toEqual({ type: 'something.new', value: 1 }),
    );
    provider.send({ type: 'something.else', value: 2 });
    expect(await caller.event('something.else')).toMatchObject({ value: 2 });
    caller.socket.close(1000);
    expect(await provider.closed).toBe(1000);
  });

  it('sends the provider its own credential and the model, and nothing of the caller', async () => {
    const opened = realtime.provider.next();
    const config = { api_key: 'provider-credential', override_params: { model: 'gpt-other' } };
    const caller = await realtime.connect(key, { config });
    const { request } = await opened;
    expect(request.headers.authorization).toBe('Bearer provider-credential');
    expect(request.url).toBe('/v1/realtime?model=gpt-other');
    expect(JSON.stringify(request.headers)).not.toContain(key);
    caller.socket.close();
  });

  it('accepts the key of a browser as a subprotocol without repeating it', async () => {
    const protocols = ['realtime', `openai-insecure-api-key.${key}`];
    const config = JSON.stringify({
      provider: 'mock-upstream',
      custom_host: realtime.provider.url,
    });
    const headers = { authorization: '', 'x-gateway-config': config };
    const opened = realtime.provider.next();
    const caller = await realtime.connect(key, { protocols, headers });
    expect(caller.socket.protocol).toBe('realtime');
    expect(JSON.stringify((await opened).request.headers)).not.toContain(key);
    caller.socket.close();
  });

  it('serves the client of the OpenAI SDK', async () => {
    const config = JSON.stringify({
      provider: 'mock-upstream',
      custom_host: realtime.provider.url,
    });
    const client = new OpenAI({ apiKey: key, baseURL: `${realtime.server.inferenceUrl}/v1` });
    // The client always asks for TLS; the test serves plain connections.
    const { port } = new URL(realtime.server.inferenceUrl);
    const options = {
      headers: { 'x-gateway-config': config },
      createConnection: (() => connect(Number(port), '127.0.0.1')) as typeof connect,
    };
    const socket = new OpenAIRealtimeWS({ model: 'gpt-realtime', options }, client);
    const texts: string[] = [];
    const done = Promise.withResolvers<void>();
    socket.on('error', done.reject);
    socket.on('session.created', () => socket.send({ type: 'response.create' }));
    socket.on('response.output_text.delta', ({ delta }) => texts.push(delta));
    socket.on('response.done', () => done.resolve());
    await done.promise;
    expect(texts.join('')).toBe('hello there');
    socket.close();
  });

  it('logs the session and each of its responses under one id', async () => {
    const id = `session-${Date.now()}`;
    const caller = await realtime.connect(key, { headers: { 'x-gateway-trace-id': id } });
    caller.send({ type: 'response.create' });
    await caller.event('response.done');
    caller.socket.close();
    await caller.closed;
    await eventually(async () => {
      await logIsWritten(realtime.server);
      const { body } = await realtime.server.request('GET', `/v1/logs?trace_id=${id}`);
      const rows = body.data as { status: number; endpoint: string; output_tokens: number }[];
      expect(rows.map(({ status }) => status).sort()).toEqual([101, 200]);
      expect(rows.find(({ status }) => status === 200)).toMatchObject({
        endpoint: 'realtime',
        input_tokens: 20,
        output_tokens: 11,
        cost: 0.000042,
      });
    });
  });
});

describe('a request for a session', () => {
  it('is answered by a plain error when the key is not known', async () => {
    const { status, body } = await realtime.refusal('not-a-key');
    expect(status).toBe(401);
    expect(JSON.parse(body).error.code).toBe('invalid_api_key');
  });

  it('is 426 without an upgrade', async () => {
    const response = await fetch(`${realtime.server.inferenceUrl}/v1/realtime?model=m`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(426);
    expect(response.headers.get('upgrade')).toBe('websocket');
  });

  it('reports the status by which the provider refuses', async () => {
    realtime.provider.refusal = 403;
    const { status, body } = await realtime.refusal(key);
    expect(status).toBe(502);
    expect(JSON.parse(body).error.message).toContain('status 403');
  });

  it('continues with the next target when the first one refuses', async () => {
    const { url } = realtime.provider;
    const target = { provider: 'mock-upstream', custom_host: url };
    const unreachable = { provider: 'mock-upstream', custom_host: 'http://127.0.0.1:1/v1' };
    const config = {
      provider: undefined,
      custom_host: undefined,
      strategy: { mode: 'fallback' },
      targets: [unreachable, { ...target, override_params: { model: 'second' } }],
    };
    const opened = realtime.provider.next();
    const caller = await realtime.connect(key, { config });
    expect((await opened).request.url).toContain('model=second');
    caller.socket.close();
  });

  it('is refused when the first event of the provider is an error', async () => {
    realtime.provider.firstEvent = { type: 'error', error: { message: 'no such model' } };
    const { status, body } = await realtime.refusal(key);
    expect(status).toBe(502);
    expect(JSON.parse(body).error.message).toContain('no such model');
  });
});
