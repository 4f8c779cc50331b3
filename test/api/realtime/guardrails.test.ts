/** Verifies that guardrails judge the texts of realtime sessions, on both sides. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
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
  provider.answer = (session) => sayText(provider, session, 'a bomb is here');
});

const forbids = (word: string, more: object = { deny: true }) => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});

async function open(config: object) {
  const opened = realtime.provider.next();
  const caller = await realtime.connect(key, { config });
  const provider = await opened;
  await caller.event('session.created');
  return { caller, provider };
}

const message = (text: string) => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});

describe('a guardrail on the input', () => {
  it.each([
    ['an item', message('a bomb')],
    ['instructions', { type: 'session.update', session: { instructions: 'a bomb' } }],
    [
      'a tool',
      { type: 'session.update', session: { tools: [{ type: 'function', description: 'a bomb' }] } },
    ],
    [
      'instructions of a response',
      { type: 'response.create', response: { instructions: 'a bomb' } },
    ],
    ['an unknown member', { type: 'conversation.item.create', item: {}, aside: 'a bomb' }],
  ])('denies %s, which the provider does not receive', async (_, event) => {
    const { caller, provider } = await open({ input_guardrails: [forbids('bomb')] });
    caller.send({ event_id: 'denied', ...event });
    expect(await caller.event('error')).toMatchObject({
      error: { type: 'hooks_failed', event_id: 'denied' },
    });
    caller.send(message('a flower'));
    await caller.event('conversation.item.added');
    expect(provider.received.map(({ type }) => type)).toEqual(['conversation.item.create']);
    expect(JSON.stringify(provider.received)).not.toContain('bomb');
    caller.socket.close();
  });

  it('replaces texts before the provider receives them', async () => {
    const rule = { rule: 'bomb', redactText: 'flower' };
    const { caller, provider } = await open({
      input_guardrails: [{ 'default.regexReplace': rule }],
    });
    caller.send(message('a bomb'));
    await caller.event('conversation.item.added');
    expect(provider.received[0]).toMatchObject({ item: { content: [{ text: 'a flower' }] } });
    caller.socket.close();
  });

  it.each([
    ['refuses sound, which it cannot judge', { deny: true }, 'error'],
    ['passes sound where it says so', { deny: true, on_unsupported: 'pass' }, 'sound'],
  ])('%s', async (_, actions, result) => {
    const { caller, provider } = await open({ input_guardrails: [forbids('bomb', actions)] });
    caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' });
    if (result === 'error') {
      expect(await caller.event('error')).toMatchObject({ error: { type: 'hooks_failed' } });
      expect(provider.received).toEqual([]);
    } else {
      await eventually(() =>
        expect(provider.received).toEqual([{ type: 'input_audio_buffer.append', audio: 'AAAA' }]),
      );
    }
    caller.socket.close();
  });

  it('refuses an event that it does not know, and one that repeats a member passes as read', async () => {
    const { caller, provider } = await open({ input_guardrails: [forbids('bomb')] });
    caller.send({ type: 'conversation.item.make', text: 'a bomb' });
    await caller.event('error');
    caller.socket.send(
      '{"type":"conversation.item.create","item":{"a":"a bomb"},"item":{"a":"b"}}',
    );
    await caller.event('conversation.item.added');
    expect(JSON.stringify(provider.received)).not.toContain('bomb');
    caller.socket.close();
  });
});

describe('a guardrail on the output', () => {
  it('withholds a denied response as a whole', async () => {
    const { caller } = await open({ output_guardrails: [forbids('bomb')] });
    caller.send({ type: 'response.create' });
    expect(await caller.event('error')).toMatchObject({ error: { type: 'hooks_failed' } });
    expect(await caller.event('response.done')).toMatchObject({
      response: { status: 'failed', output: [] },
    });
    expect(JSON.stringify(caller.received)).not.toContain('bomb');
    caller.socket.close();
  });

  it('passes on all events of a response that it allows, in order', async () => {
    const { caller } = await open({ output_guardrails: [forbids('flower')] });
    caller.send({ type: 'response.create' });
    await caller.event('response.done');
    expect(caller.received.map(({ type }) => type)).toEqual([
      'session.created',
      'response.created',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.done',
    ]);
    caller.socket.close();
  });

  it('judges a text that is split into pieces, and replaces it in whole events', async () => {
    const rule = { rule: 'bomb', redactText: 'flower' };
    const { caller } = await open({ output_guardrails: [{ 'default.regexReplace': rule }] });
    caller.send({ type: 'response.create' });
    const done = await caller.event('response.done');
    expect(done).toMatchObject({
      response: { output: [{ content: [{ text: 'a flower is here' }] }] },
    });
    expect(JSON.stringify(caller.received)).not.toContain('bomb');
    caller.socket.close();
  });

  it('withholds events that it does not know', async () => {
    const { caller, provider } = await open({ output_guardrails: [forbids('bomb')] });
    provider.send({ type: 'something.else', text: 'a bomb' });
    provider.send({ type: 'rate_limits.updated', rate_limits: [] });
    await caller.event('rate_limits.updated');
    expect(JSON.stringify(caller.received)).not.toContain('bomb');
    caller.socket.close();
  });
});

describe('a guardrail in mode monitor', () => {
  it('delivers a response as it arrives, and logs its verdict with the session', async () => {
    const monitors = forbids('bomb', { deny: true, mode: 'monitor' });
    const { caller } = await open({ input_guardrails: [monitors], output_guardrails: [monitors] });
    caller.send(message('a bomb'));
    await caller.event('conversation.item.added');
    caller.send({ type: 'response.create' });
    const done = await caller.event('response.done');
    expect(JSON.stringify(done)).toContain('a bomb is here');
    caller.socket.close();
    const rows = async () => (await realtime.server.request('GET', '/v1/logs')).body.data;
    await eventually(async () => {
      const [session] = (await rows()).filter(
        ({ status, guardrail_verdict: verdict }: Record<string, unknown>) =>
          status === 101 && verdict === 'monitored',
      );
      expect(session?.guardrail_checks).toMatchObject([
        { side: 'input', verdict: 'failed', is_monitored: true },
        { side: 'output', verdict: 'failed', is_monitored: true },
      ]);
    });
  });
});
