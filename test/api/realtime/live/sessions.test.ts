/** Verifies that sessions of Gemini's live API are opened, relayed, resumed and ended for Google's own client. */
import { GoogleGenAI, Modality } from '@google/genai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../../support/server/eventually.ts';
import {
  connectLive,
  type LiveServer,
  liveLog,
  liveModel,
  startLive,
} from '../../../support/server/live.ts';
import { charge, sayLive } from '../../../support/upstream/live-provider.ts';

let live: LiveServer;
let key: string;

beforeAll(async () => {
  live = await startLive();
  ({ key } = await live.addKey());
});

afterAll(() => live[Symbol.asyncDispose]());

beforeEach(() => {
  const { provider } = live;
  provider.refusal = null;
  provider.journal.length = 0;
  provider.answer = (session) => sayLive(provider, session, 'hello there');
});

describe('a session of the live API', () => {
  it('is served to the client of Google with setup, text, sound and calls of functions', async () => {
    const { provider } = live;
    const opened = provider.next();
    const functionDeclarations = [{ name: 'weather' }];
    const caller = await live.connect(key, {
      live: {
        responseModalities: [Modality.AUDIO],
        systemInstruction: 'be short',
        tools: [{ functionDeclarations }],
      },
    });
    const session = await opened;
    expect(session.received[0]).toMatchObject({
      setup: {
        model: `models/${liveModel}`,
        generationConfig: { responseModalities: ['AUDIO'] },
        tools: [{ functionDeclarations }],
      },
    });
    caller.session.sendClientContent({ turns: 'hi' });
    expect(await caller.turn()).toMatchObject({ usageMetadata: { responseTokenCount: 11 } });
    const texts = caller.received.map(({ text }) => text).filter((text) => text !== undefined);
    expect(texts.join('')).toBe('hello there');
    provider.answer = (one) => {
      one.send({ toolCall: { functionCalls: [{ id: 'c1', name: 'weather', args: {} }] } });
      provider.answer = () => sayLive(provider, one, 'sunny');
    };
    caller.session.sendRealtimeInput({ text: 'the weather?' });
    const { toolCall } = await caller.message((one) => one.toolCall !== undefined);
    expect(toolCall!.functionCalls![0]).toMatchObject({ id: 'c1', name: 'weather' });
    caller.session.sendToolResponse({
      functionResponses: { id: 'c1', name: 'weather', response: { sun: true } },
    });
    await caller.turn();
    caller.session.sendRealtimeInput({ audio: { data: 'AAAA', mimeType: 'audio/pcm' } });
    await eventually(() =>
      expect(session.received.at(-1)).toEqual({
        realtimeInput: { audio: { data: 'AAAA', mimeType: 'audio/pcm' } },
      }),
    );
    caller.session.close();
    await session.closed;
  });

  it('sends the provider its own credential in a header, and nothing of the caller', async () => {
    const opened = live.provider.next();
    const caller = await live.connect(key, {
      config: { override_params: { model: 'other-live' } },
    });
    const { request, received } = await opened;
    expect(request.url).toBe(
      '/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent',
    );
    expect(request.headers['x-goog-api-key']).toBe('provider-credential');
    expect(JSON.stringify(request.headers)).not.toContain(key);
    expect(received[0]).toMatchObject({ setup: { model: 'models/other-live' } });
    caller.session.close();
  });

  it('takes members in the other spelling, and the version of the API that the client names', async () => {
    const opened = live.provider.next();
    const url = live.server.inferenceUrl.replace(/^http/, 'ws');
    const path = '/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContent';
    const config = { provider: 'google', custom_host: live.provider.url, api_key: 'p' };
    const socket = new WebSocket(`${url}${path}?key=${key}`, {
      headers: { 'x-gateway-config': JSON.stringify(config) },
    });
    socket.on('open', () => {
      const setup = { model: 'models/m', system_instruction: { parts: [{ text: 'short' }] } };
      socket.send(JSON.stringify({ setup }));
    });
    const { request, received } = await opened;
    expect(request.url).toContain('.v1alpha.');
    expect(received[0]).toEqual({
      setup: { model: 'models/m', systemInstruction: { parts: [{ text: 'short' }] } },
    });
    socket.close();
  });

  it('logs each response with its tokens by kind, and the session', async () => {
    const id = 'live-session-in-log';
    const caller = await live.connect(key, { headers: { 'x-gateway-trace-id': id } });
    caller.session.sendClientContent({ turns: 'hi' });
    await caller.turn();
    caller.session.close();
    await eventually(async () => {
      const rows = await liveLog(live, id);
      expect(rows.map(({ status }) => status).toSorted()).toEqual([101, 200]);
      expect(rows.find(({ status }) => status === 200)).toMatchObject({
        endpoint: 'realtime',
        provider: 'google',
        input_tokens: 20,
        output_tokens: 11,
      });
    });
  });

  it('continues with the next target when a provider refuses the setup', async () => {
    const { provider } = live;
    provider.refusal = { code: 1008, reason: 'no such model' };
    const targets = ['first-live', 'second-live'].map((model) => ({
      provider: 'google',
      custom_host: provider.url,
      api_key: 'p',
      override_params: { model },
    }));
    const client = new GoogleGenAI({
      apiKey: key,
      httpOptions: {
        baseUrl: live.server.inferenceUrl,
        headers: {
          'x-gateway-config': JSON.stringify({ strategy: { mode: 'fallback' }, targets }),
        },
      },
    });
    const first = provider.next().then((session) => {
      provider.refusal = null;
      return session;
    });
    const caller = await connectLive(client, liveModel);
    expect((await first).received[0]).toMatchObject({ setup: { model: 'models/first-live' } });
    expect(provider.sessions.at(-1)!.received[0]).toMatchObject({
      setup: { model: 'models/second-live' },
    });
    caller.session.close();
  });

  it.each([
    ['a setup that the provider refuses', { config: {} }, /1011|no such model/],
    ['a provider without the API', { config: { provider: 'anthropic' } }, /1008.*not_found/],
    ['files that the account stores', { live: storedFile() }, /1008.*stored objects/],
  ])('is closed with the reason for %s', async (title, options, reason) => {
    if (title.includes('provider refuses')) {
      live.provider.refusal = { code: 1008, reason: 'no such model' };
    }
    await expect(live.connect(key, options)).rejects.toThrow(reason);
  });

  it('refuses an unknown key before the WebSocket is accepted', async () => {
    await expect(live.connect('nobody')).rejects.toThrow(/401/);
  });

  it('answers a request without WebSocket by 426', async () => {
    const path = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';
    const response = await fetch(live.server.inferenceUrl + path);
    expect(response.status).toBe(426);
  });

  it('charges a response once whose usage is reported behind its end, or several times', async () => {
    const { provider } = live;
    const { key: budgeted } = await live.addKey({
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    });
    provider.answer = (session) => {
      const content = { modelTurn: { role: 'model', parts: [{ text: 'a' }] } };
      const counts = { promptTokenCount: 30, responseTokenCount: 4, totalTokenCount: 34 };
      session.send({ serverContent: content, usageMetadata: counts });
      session.send({ serverContent: { turnComplete: true } });
      session.send({ usageMetadata: { ...counts, responseTokenCount: 9, totalTokenCount: 39 } });
    };
    const id = 'live-session-with-late-usage';
    const caller = await live.connect(budgeted, { headers: { 'x-gateway-trace-id': id } });
    caller.session.sendClientContent({ turns: 'hi' });
    await caller.message(({ usageMetadata }) => usageMetadata?.responseTokenCount === 9);
    caller.session.close();
    await eventually(async () => {
      const rows = (await liveLog(live, id)).filter(({ status }) => status === 200);
      expect(rows).toEqual([expect.objectContaining({ input_tokens: 30, output_tokens: 9 })]);
    });
  });
});

describe('a handle of a session', () => {
  const resumption = (handle?: string) => ({
    live: { sessionResumption: handle ? { handle } : {} },
  });

  async function handleOf(owner: string): Promise<string> {
    const opened = live.provider.next();
    const caller = await live.connect(owner, resumption());
    (await opened).send({
      sessionResumptionUpdate: { newHandle: 'handle-of-provider', resumable: true },
    });
    const { sessionResumptionUpdate: update } = await caller.message(
      (one) => one.sessionResumptionUpdate !== undefined,
    );
    caller.session.close();
    return update!.newHandle!;
  }

  it('resumes the session for its owner, and hides the handle of the provider', async () => {
    const sealed = await handleOf(key);
    expect(sealed).not.toContain('handle-of-provider');
    const opened = live.provider.next();
    const caller = await live.connect(key, resumption(sealed));
    expect((await opened).received[0]).toMatchObject({
      setup: { sessionResumption: { handle: 'handle-of-provider' } },
    });
    caller.session.close();
  });

  it('resumes nothing for another key, at another provider, or as the provider issued it', async () => {
    const { key: other } = await live.addKey();
    const sealed = await handleOf(key);
    const foreign = /1008.*not_found/;
    await expect(live.connect(other, resumption(sealed))).rejects.toThrow(foreign);
    await expect(live.connect(key, resumption('handle-of-provider'))).rejects.toThrow(foreign);
    const config = { custom_host: 'http://127.0.0.1:1/v1beta/openai' };
    await expect(live.connect(key, { ...resumption(sealed), config })).rejects.toThrow(foreign);
  });

  it('carries the length of the conversation, which limits count', async () => {
    const { key: budgeted } = await live.addKey({
      usage_limits: { type: 'tokens', credit_limit: 30_000 },
    });
    const { provider } = live;
    provider.answer = (session) => {
      const usageMetadata = charge(provider, { input: 25_000, output: 10 });
      session.send({ serverContent: { modelTurn: { parts: [{ text: 'a' }] } } });
      session.send({ serverContent: { turnComplete: true }, usageMetadata });
      session.send({ sessionResumptionUpdate: { newHandle: 'long', resumable: true } });
    };
    const caller = await live.connect(budgeted, resumption());
    caller.session.sendClientContent({ turns: 'hi' });
    const { sessionResumptionUpdate: update } = await caller.message(
      (one) => one.sessionResumptionUpdate !== undefined,
    );
    caller.session.close();
    await caller.closed;
    const again = live.connect(budgeted, resumption(update!.newHandle));
    await expect(again).rejects.toThrow(/usage_limit_exceeded/);
  });
});

function storedFile() {
  return { tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/other'] } }] };
}
