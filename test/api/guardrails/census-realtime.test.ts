/** Verifies that every check judges both sides of realtime sessions at every endpoint of the catalogue. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allEndpoints, publicPath } from '../../../src/model/endpoints/catalogue.ts';
import {
  addCensusGuardrails,
  loggedChecks,
  missingChecks,
} from '../../support/guardrails/census.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type LiveServer, startLive } from '../../support/server/live.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
import type { TestServer } from '../../support/server/server.ts';
import { charge, sayLive } from '../../support/upstream/live-provider.ts';
import { beginResponse, endResponse, sayText } from '../../support/upstream/realtime-provider.ts';

let realtime: RealtimeServer;
let live: LiveServer;

const endpoints = allEndpoints.filter(({ name }) => name.startsWith('realtime'));
const secretEndpoints = endpoints.filter(({ name }) => name === 'realtime_secrets');

beforeAll(async () => {
  [realtime, live] = await Promise.all([startRealtime(), startLive()]);
});

afterAll(async () => {
  await realtime[Symbol.asyncDispose]();
  await live[Symbol.asyncDispose]();
});

async function addCaller({ server }: { readonly server: TestServer }) {
  const workspace = await server.request('POST', '/v1/admin/workspaces', {
    body: { name: 'census' },
  });
  const workspace_id = workspace.body.id;
  const made = await server.request('POST', '/v1/api-keys/workspace/service', {
    body: { name: 'caller', scopes: ['completions.write'], workspace_id },
  });
  const guardrails = await addCensusGuardrails(server, workspace_id);
  return { key: made.body.key as string, slugs: guardrails.map(({ slug }) => slug) };
}

/** A guardrail of the census on both sides. */
const both = (slug: string) => ({ input_guardrails: [slug], output_guardrails: [slug] });

async function missingOf(server: TestServer, traces: readonly string[]): Promise<string[]> {
  const sides = ['input', 'output'] as const;
  const found = await Promise.all(
    sides.map(async (side) => {
      const checks = missingChecks(await loggedChecks(server, traces, side));
      return checks.map((id) => `${side} ${id}`);
    }),
  );
  return found.flat();
}

describe('a session of OpenAI', () => {
  const outputs: [string, (provider: RealtimeServer['provider']) => void][] = [
    [
      'a text',
      (provider) => {
        provider.answer = (session) => sayText(provider, session, 'a canary');
      },
    ],
    [
      'a transcript of its sound',
      (provider) => {
        provider.answer = (session) => {
          const id = beginResponse(session);
          const place = { response_id: id, item_id: 'i', output_index: 0, content_index: 0 };
          for (const delta of ['a can', 'ary']) {
            session.send({ type: 'response.output_audio_transcript.delta', ...place, delta });
          }
          endResponse(provider, session, id, { input: 5, output: 5 });
        };
      },
    ],
    [
      'arguments of a call',
      (provider) => {
        provider.answer = (session) => {
          const id = beginResponse(session);
          const place = { response_id: id, item_id: 'i', output_index: 0, call_id: 'c' };
          for (const delta of ['{"a":"can', 'ary"}']) {
            session.send({ type: 'response.function_call_arguments.delta', ...place, delta });
          }
          endResponse(provider, session, id, { input: 5, output: 5 });
        };
      },
    ],
  ];
  const item = (content: object) => ({ type: 'conversation.item.create', item: content });
  const message = item({
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: 'a canary' }],
  });
  const deny = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };

  it.each([
    ['a message', message],
    ['a tool result', item({ type: 'function_call_output', call_id: 'c', output: 'a canary' })],
    ['instructions', { type: 'session.update', session: { instructions: 'a canary' } }],
    ['a response', { type: 'response.create', response: { instructions: 'a canary' } }],
    [
      'the address of an image',
      item({
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'https://a.example/a canary' }],
      }),
    ],
  ])('does not pass %s to the provider', async (_, event) => {
    const { key } = await realtime.addKey();
    const opened = realtime.provider.next();
    const caller = await realtime.connect(key, { config: { input_guardrails: [deny] } });
    const session = await opened;
    await caller.event('session.created');
    caller.send(event);
    await caller.event('error');
    expect(JSON.stringify(session.received)).not.toContain('canary');
    caller.socket.close();
  });

  it.each(outputs)('does not pass %s to the caller', async (_, prepare) => {
    prepare(realtime.provider);
    const { key } = await realtime.addKey();
    const caller = await realtime.connect(key, { config: { output_guardrails: [deny] } });
    await caller.event('session.created');
    caller.send({ type: 'response.create' });
    await caller.event('error');
    expect(JSON.stringify(caller.received)).not.toMatch(/canary|a can/);
    caller.socket.close();
  });

  it.each(outputs)('is judged by every check when it answers by %s', async (_, prepare) => {
    prepare(realtime.provider);
    const { key, slugs } = await addCaller(realtime);
    const traces: string[] = [];
    for (const [at, slug] of slugs.entries()) {
      const trace = `census-openai-${_.replaceAll(' ', '-')}-${at}`;
      traces.push(trace);
      const headers = { 'x-gateway-trace-id': trace };
      const caller = await realtime.connect(key, { config: both(slug), headers });
      await caller.event('session.created');
      caller.send(message);
      await caller.event('conversation.item.added');
      caller.send({ type: 'response.create' });
      await caller.event('response.done');
      caller.socket.close();
      await caller.closed;
    }
    expect(await missingOf(realtime.server, traces)).toEqual([]);
  });
});

describe("a session of Gemini's live API", () => {
  const outputs: [string, (provider: LiveServer['provider']) => void][] = [
    [
      'a text',
      (provider) => {
        provider.answer = (session) => sayLive(provider, session, 'a canary');
      },
    ],
    [
      'a transcript of its sound',
      (provider) => {
        provider.answer = (session) => {
          for (const text of ['a can', 'ary']) {
            session.send({ serverContent: { outputTranscription: { text } } });
          }
          const usageMetadata = charge(provider, { input: 5, output: 5 });
          session.send({ serverContent: { turnComplete: true }, usageMetadata });
        };
      },
    ],
    [
      'arguments of a call',
      (provider) => {
        provider.answer = (session) => {
          const call = { id: 'c', name: 't', args: { a: 'a canary' } };
          session.send({ toolCall: { functionCalls: [call] } });
          const usageMetadata = charge(provider, { input: 5, output: 5 });
          session.send({ serverContent: { turnComplete: true }, usageMetadata });
        };
      },
    ],
  ];

  it.each(outputs)('is judged by every check when it answers by %s', async (_, prepare) => {
    prepare(live.provider);
    const { key, slugs } = await addCaller(live);
    const traces: string[] = [];
    for (const [at, slug] of slugs.entries()) {
      const trace = `census-live-${_.replaceAll(' ', '-')}-${at}`;
      traces.push(trace);
      const headers = { 'x-gateway-trace-id': trace };
      const caller = await live.connect(key, { config: both(slug), headers });
      caller.session.sendClientContent({ turns: 'a canary' });
      await caller.turn();
      caller.session.close();
      await caller.closed;
    }
    expect(await missingOf(live.server, traces)).toEqual([]);
  });
});

describe('a secret of a session', () => {
  it.each(secretEndpoints.map(({ method, path }) => [method, publicPath(path)]))(
    'holds no text that guardrails would have to judge: %s %s',
    async (method, path) => {
      const { key } = await realtime.addKey();
      const headers = { authorization: `Bearer ${key}` };
      const settings = { model: 'gpt-realtime', instructions: 'a canary' };
      for (const body of [
        settings,
        { session: { type: 'realtime', ...settings } },
        { bidiGenerateContentSetup: { systemInstruction: 'a canary' } },
      ]) {
        const url = realtime.server.inferenceUrl + path;
        const refused = await exchange(method!, url, body, headers);
        expect(refused.status).toBe(400);
      }
    },
  );
});

describe('the census of realtime endpoints', () => {
  it('covers each endpoint: those that are sessions, as which all others are served, and secrets', () => {
    const sessions = endpoints.filter((one) => one.name === 'realtime' && one.servedAs === null);
    expect(sessions.map(({ path }) => path)).toEqual(['/realtime', '/v1beta/live']);
    const others = endpoints.filter((one) => !sessions.includes(one));
    expect(
      others.every((one) => secretEndpoints.includes(one) || one.servedAs === '/v1beta/live'),
    ).toBe(true);
  });
});
