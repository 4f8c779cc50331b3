/** Verifies that secrets open realtime sessions at the gateway only, within the rights of their key. */
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLive, type LiveServer, liveModel, startLive } from '../../support/server/live.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';

let realtime: RealtimeServer;
let key: string;

beforeAll(async () => {
  realtime = await startRealtime();
  ({ key } = await realtime.addKey());
});

afterAll(() => realtime[Symbol.asyncDispose]());

const configOf = () =>
  JSON.stringify({ provider: 'mock-upstream', custom_host: realtime.provider.url });

function post(path: string, body: object, bearer = key): Promise<Response> {
  return fetch(realtime.server.inferenceUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      'x-gateway-config': configOf(),
    },
    body: JSON.stringify(body),
  });
}

async function secretOf(body: object = {}, bearer = key): Promise<string> {
  const response = await post('/v1/realtime/client_secrets', body, bearer);
  expect(response.status).toBe(200);
  return ((await response.json()) as { value: string }).value;
}

const connect = (secret: string, more: object = {}) =>
  realtime.connect(secret, { config: null, ...more });

describe('a secret of OpenAI form', () => {
  it('is issued to the client of OpenAI, and opens a session with the config of its request', async () => {
    const client = new OpenAI({
      apiKey: key,
      baseURL: `${realtime.server.inferenceUrl}/v1`,
      defaultHeaders: { 'x-gateway-config': configOf() },
    });
    const session = { type: 'realtime', model: 'gpt-realtime' } as const;
    const issued = await client.realtime.clientSecrets.create({ session });
    expect(issued).toMatchObject({ value: expect.stringMatching(/^ek_/), session });
    expect(issued.value).not.toContain(key);
    const opened = realtime.provider.next();
    const caller = await connect(issued.value);
    expect(JSON.stringify((await opened).request.headers)).not.toContain(issued.value);
    await caller.event('session.created');
    caller.socket.close();
  });

  it('opens a session as a subprotocol, and in the older form', async () => {
    const response = await post('/v1/realtime/sessions', { model: 'gpt-realtime' });
    const { client_secret: secret } = (await response.json()) as {
      client_secret: { value: string };
    };
    const protocols = ['realtime', `openai-insecure-api-key.${secret.value}`];
    const caller = await connect('', { protocols, headers: { authorization: '' } });
    expect(await caller.event('session.created')).toMatchObject({ session: { type: 'realtime' } });
    caller.socket.close();
  });

  it('opens nothing but a session', async () => {
    const secret = await secretOf();
    const response = await post('/v1/chat/completions', { model: 'm', messages: [] }, secret);
    expect(response.status).toBe(401);
    expect((await post('/v1/realtime/client_secrets', {}, secret)).status).toBe(401);
  });

  it('is refused for another model, when it has expired, was altered, or its key is gone', async () => {
    const bound = await secretOf({ session: { model: 'gpt-other' } });
    expect((await realtime.refusal(bound, { config: null })).status).toBe(403);
    const path = '/v1/realtime?model=gpt-other';
    const opened = realtime.provider.next();
    const holder = await connect(bound, { path, config: { override_params: { model: 'dear' } } });
    expect((await opened).request.url).toContain('model=gpt-other');
    holder.socket.close();
    const secret = await secretOf({ expires_after: { anchor: 'created_at', seconds: 10 } });
    const altered = `${secret.slice(0, -4)}AAAA`;
    expect((await realtime.refusal(altered, { config: null })).status).toBe(401);
    const made = await realtime.addKey();
    const orphan = await secretOf({}, made.key);
    await realtime.server.request('DELETE', `/v1/api-keys/${made.id}`);
    expect((await realtime.refusal(orphan, { config: null })).status).toBe(401);
    await using late = await startRealtime({});
    expect((await late.refusal(secret, { config: null })).status).toBe(401);
    realtime.server.clock.advance(10_000);
    expect((await realtime.refusal(secret, { config: null })).status).toBe(401);
  });

  it.each([
    [{ session: { instructions: 'x' } }, 'session.instructions'],
    [{ session: { type: 'transcription' } }, 'session.type'],
    [{ expires_after: { seconds: 9 } }, 'expires_after.seconds'],
    [{ expires_after: { seconds: 7_201 } }, 'expires_after.seconds'],
    [{ uses: 3 }, 'uses'],
  ])('is not issued for %j', async (body, param) => {
    const response = await post('/v1/realtime/client_secrets', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });
});

describe('a secret of Google form', () => {
  let live: LiveServer;

  beforeAll(async () => {
    live = await startLive();
  });

  afterAll(() => live[Symbol.asyncDispose]());

  it('is issued to the client of Google, and opens sessions of its API and model', async () => {
    const { key: owner } = await live.addKey();
    const config = { provider: 'google', custom_host: live.provider.url, api_key: 'p' };
    const headers = { 'x-gateway-config': JSON.stringify(config) };
    const httpOptions = {
      baseUrl: live.server.inferenceUrl,
      apiVersion: 'v1alpha',
      headers,
    };
    const server = new GoogleGenAI({ apiKey: owner, httpOptions });
    const { name } = await server.authTokens.create({
      config: { liveConnectConstraints: { model: liveModel } },
    });
    const { headers: _, ...plain } = httpOptions;
    const browser = new GoogleGenAI({ apiKey: name!, httpOptions: plain });
    const opened = live.provider.next();
    const caller = await connectLive(browser, liveModel);
    const { request, received } = await opened;
    expect(received[0]).toMatchObject({ setup: { model: `models/${liveModel}` } });
    expect(request.headers['x-goog-api-key']).toBe('p');
    caller.session.close();
    await expect(connectLive(browser, 'other-model')).rejects.toThrow(/1008.*model_not_allowed/);
  });
});
