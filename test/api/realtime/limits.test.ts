/** Verifies that limits hold in realtime sessions: before each response, whoever wants it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
import {
  beginResponse,
  endOfTurn,
  endResponse,
  sayText,
} from '../../support/upstream/realtime-provider.ts';

let realtime: RealtimeServer;

beforeAll(async () => {
  realtime = await startRealtime();
});

afterAll(() => realtime[Symbol.asyncDispose]());

beforeEach(() => {
  const { provider } = realtime;
  provider.journal.length = 0;
  provider.answer = (session) => sayText(provider, session, 'hello there');
});

const tokens = (credit_limit: number) => ({ usage_limits: { type: 'tokens', credit_limit } });

async function open(limits: object) {
  const { key, id } = await realtime.addKey(limits);
  const opened = realtime.provider.next();
  const caller = await realtime.connect(key);
  const provider = await opened;
  await caller.event('session.created');
  return { key, id, caller, provider };
}

describe('a budget of tokens', () => {
  it('bounds the output of each response to what it reserves', async () => {
    const { caller, provider } = await open(tokens(6_000));
    caller.send({ type: 'response.create', response: { max_output_tokens: 'inf' } });
    await caller.event('response.done');
    const sent = provider.received.find(({ type }) => type === 'response.create');
    const { max_output_tokens: most } = sent!.response as { max_output_tokens: number };
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(4_096);
    caller.socket.close();
  });

  it('ends responses with an error event when it is used up, and keeps the session', async () => {
    const { provider } = realtime;
    provider.answer = (session) => {
      const id = beginResponse(session);
      endResponse(provider, session, id, { input: 4_000, output: 10 });
    };
    const { caller, provider: session } = await open(tokens(5_000));
    caller.send({ type: 'response.create', event_id: 'first' });
    await caller.event('response.done');
    caller.send({ type: 'response.create', event_id: 'second' });
    const { error } = await caller.event('error');
    expect(error).toMatchObject({
      type: 'usage_limit_exceeded',
      code: 'usage_limit_exceeded',
      event_id: 'second',
    });
    expect(session.received.filter(({ type }) => type === 'response.create')).toHaveLength(1);
    expect(caller.socket.readyState).toBe(1);
    caller.socket.close();
  });

  it('creates the response to a detected turn itself, and none beyond the budget', async () => {
    const { provider } = realtime;
    provider.answer = (session) => {
      const id = beginResponse(session);
      endResponse(provider, session, id, { input: 4_000, output: 10 });
    };
    const { caller, provider: session } = await open(tokens(5_500));
    const turn_detection = { type: 'server_vad', create_response: false };
    await eventually(() =>
      expect(session.received[0]).toMatchObject({
        type: 'session.update',
        session: { audio: { input: { turn_detection } } },
      }),
    );
    caller.send({ type: 'input_audio_buffer.append', audio: endOfTurn });
    await caller.event('response.done');
    caller.send({ type: 'input_audio_buffer.append', audio: endOfTurn });
    expect(await caller.event('error')).toMatchObject({ error: { code: 'usage_limit_exceeded' } });
    expect(provider.journal).toHaveLength(1);
    caller.socket.close();
  });

  it('keeps a caller from letting the provider respond by itself', async () => {
    const { caller, provider } = await open(tokens(50_000));
    const turn_detection = { type: 'semantic_vad', create_response: true, idle_timeout_ms: 5_000 };
    caller.send({ type: 'session.update', session: { audio: { input: { turn_detection } } } });
    await caller.event('session.updated');
    expect(provider.received.at(-1)).toEqual({
      type: 'session.update',
      session: {
        audio: { input: { turn_detection: { type: 'semantic_vad', create_response: false } } },
      },
    });
    caller.socket.close();
  });

  it('refuses settings whose usage it cannot count, and events that it does not know', async () => {
    const { caller, provider } = await open(tokens(50_000));
    await eventually(() => expect(provider.received).toHaveLength(1));
    const audio = { input: { transcription: { model: 'whisper-1' } } };
    caller.send({ type: 'session.update', session: { audio } });
    expect(await caller.event('error')).toMatchObject({
      error: { code: 'usage_unbounded', param: 'session.audio.input.transcription' },
    });
    caller.send({
      type: 'session.update',
      session: { tools: [{ type: 'mcp', server_label: 'x' }] },
    });
    expect(await caller.event('error')).toMatchObject({ error: { param: 'session.tools' } });
    caller.send({ type: 'response.make' });
    expect(await caller.event('error')).toMatchObject({ error: { param: 'type' } });
    expect(provider.received).toHaveLength(1);
    caller.socket.close();
  });

  it('releases what a response has reserved that the provider refuses', async () => {
    const { provider } = realtime;
    provider.answer = (session, event) => {
      session.send({ type: 'error', error: { message: 'no', event_id: event.event_id } });
    };
    const { caller } = await open(tokens(6_000));
    for (let at = 0; at < 5; at += 1) {
      caller.send({ type: 'response.create' });
      expect(await caller.event('error')).toMatchObject({ error: { message: 'no' } });
    }
    caller.socket.close();
  });

  it('asks the provider to stop when the caller leaves, and charges what it reports', async () => {
    const { provider } = realtime;
    let id = '';
    provider.answer = (session) => {
      id = beginResponse(session);
    };
    const { caller, provider: session, id: keyId } = await open(tokens(10_000));
    caller.send({ type: 'response.create' });
    await caller.event('response.created');
    caller.socket.close();
    await eventually(() => expect(session.received.at(-1)?.type).toBe('response.cancel'));
    endResponse(provider, session, id, { input: 30, output: 5 }, { status: 'cancelled' });
    expect(await session.closed).toBe(1000);
    await eventually(async () =>
      expect(await keyUnits(realtime.server.database.db, keyId)).toBe(35),
    );
  });
});

describe('a rate limit of requests', () => {
  it('counts the session and each of its responses', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpd', value: 3 }];
    const { key, caller } = await open({ rate_limits });
    for (let at = 0; at < 2; at += 1) {
      caller.send({ type: 'response.create' });
      await caller.event('response.done');
    }
    caller.send({ type: 'response.create' });
    expect(await caller.event('error')).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect((await realtime.refusal(key)).status).toBe(429);
    caller.socket.close();
  });
});
