/** Verifies that limits hold in sessions of Gemini's live API, although the provider starts responses by itself. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyUnits } from '../../../support/rows/usage-rows.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type LiveServer, liveLog, startLive } from '../../../support/server/live.ts';
import { charge, endOfSpeech, sayLive } from '../../../support/upstream/live-provider.ts';

let live: LiveServer;

beforeAll(async () => {
  live = await startLive();
});

afterAll(() => live[Symbol.asyncDispose]());

beforeEach(() => {
  const { provider } = live;
  provider.journal.length = 0;
  provider.answer = (session) => sayLive(provider, session, 'hello there');
});

const tokens = (credit_limit: number) => ({ usage_limits: { type: 'tokens', credit_limit } });

async function open(limits: object, config: object = {}) {
  const { key, id } = await live.addKey(limits);
  const opened = live.provider.next();
  const caller = await live.connect(key, { live: config });
  return { key, id, caller, session: await opened };
}

/** Answers each turn with this usage. */
function answerWith(usage: { readonly input: number; readonly output: number }): void {
  const { provider } = live;
  provider.answer = (session) => {
    session.send({ serverContent: { modelTurn: { parts: [{ text: 'a' }] } } });
    const usageMetadata = charge(provider, usage);
    session.send({ serverContent: { turnComplete: true }, usageMetadata });
  };
}

const sum = (): number =>
  live.provider.journal.reduce((total, { input, output }) => total + input + output, 0);

async function expectCharged(id: string, units: number): Promise<void> {
  await eventually(async () => expect(await keyUnits(live.server.database.db, id)).toBe(units));
}

describe('a budget of tokens', () => {
  it('bounds the output of every response in the setup', async () => {
    const { caller, session } = await open(tokens(6_000));
    const { setup } = session.received[0] as {
      readonly setup: { readonly generationConfig: { readonly maxOutputTokens: number } };
    };
    expect(setup.generationConfig.maxOutputTokens).toBeGreaterThan(0);
    expect(setup.generationConfig.maxOutputTokens).toBeLessThanOrEqual(6_000);
    caller.session.close();
  });

  it('charges what the provider reports for each turn', async () => {
    const { caller, id } = await open(tokens(100_000));
    for (let turn = 0; turn < 3; turn += 1) {
      caller.session.sendClientContent({ turns: 'hi' });
      await caller.turn();
    }
    caller.session.close();
    await expectCharged(id, sum());
    expect(live.provider.journal).toHaveLength(3);
  });

  it('ends the session before a message that may start a response beyond it', async () => {
    answerWith({ input: 3_000, output: 10 });
    const { caller, session } = await open(tokens(6_000), { maxOutputTokens: 100 });
    caller.session.sendClientContent({ turns: 'hi' });
    await caller.turn();
    caller.session.sendRealtimeInput({ text: 'more' });
    const { code, reason } = await caller.closed;
    expect([code, reason]).toEqual([1008, expect.stringContaining('usage_limit_exceeded')]);
    expect(session.received).toHaveLength(2);
    expect(sum()).toBeLessThanOrEqual(6_000);
  });

  it('covers turns that the provider detects in sound, and extends the reservation with the sound', async () => {
    answerWith({ input: 100, output: 10 });
    const { caller, id } = await open(tokens(40_000), { maxOutputTokens: 100 });
    const second = Buffer.alloc(32_000).toString('base64');
    for (let turn = 0; turn < 2; turn += 1) {
      for (let at = 0; at < 60; at += 1) {
        caller.session.sendRealtimeInput({
          audio: { data: second, mimeType: 'audio/pcm;rate=16000' },
        });
      }
      caller.session.sendRealtimeInput({ audio: { data: endOfSpeech, mimeType: 'audio/pcm' } });
      await caller.turn();
    }
    caller.session.close();
    await expectCharged(id, sum());
  });

  it('lets a running response end before the session ends for want of the next', async () => {
    const { provider } = live;
    const { key } = await live.addKey(tokens(7_000));
    const id = 'live-session-without-next';
    const opened = provider.next();
    const headers = { 'x-gateway-trace-id': id };
    const caller = await live.connect(key, { live: { maxOutputTokens: 2_000 }, headers });
    const session = await opened;
    provider.answer = (one) => {
      one.send({ serverContent: { modelTurn: { parts: [{ text: 'a' }] } } });
    };
    caller.session.sendClientContent({ turns: 'hi' });
    await caller.message(({ text }) => text === 'a');
    caller.session.sendRealtimeInput({ text: 'x'.repeat(2_000) });
    await eventually(async () => expect(await liveLog(live, id)).toHaveLength(1));
    expect(await liveLog(live, id)).toMatchObject([{ status: 412 }]);
    session.send({
      serverContent: { turnComplete: true },
      usageMetadata: charge(provider, { input: 30, output: 5 }),
    });
    await caller.turn();
    expect((await caller.closed).reason).toContain('usage_limit_exceeded');
  });

  it.each([
    ['tools that the provider runs', { tools: [{ googleSearch: {} }] }],
    ['the picture of a speaker', { avatarConfig: { avatarName: 'a' } }],
  ])('refuses %s, whose usage it cannot count', async (_, config) => {
    const { key } = await live.addKey(tokens(100_000));
    await expect(live.connect(key, { live: config })).rejects.toThrow(/usage_unbounded/);
  });

  it.each([
    ['an unknown message', { newThing: {} }],
    ['a second setup', { setup: { model: 'models/m' } }],
    ['an unknown member', { realtimeInput: { smell: 'AAAA' } }],
    ['two messages in one', { clientContent: {}, realtimeInput: { text: 'a' } }],
    ['a file of the provider', { clientContent: { turns: [{ parts: [{ fileData: {} }] }] } }],
    [
      'a changed list of tools',
      { contextUpdate: { tools: [{ googleSearch: {} }], systemInstruction: {} } },
    ],
  ])('ends the session for %s, which the provider does not receive', async (_, message) => {
    const { caller, session } = await open(tokens(100_000));
    sendRaw(caller, message);
    expect((await caller.closed).code).toBe(1008);
    expect(session.received).toHaveLength(1);
  });

  it('interrupts the response of a caller who leaves, and charges what is reported', async () => {
    const { provider } = live;
    const { caller, session, id } = await open(tokens(100_000));
    provider.answer = (one) => {
      one.send({ serverContent: { modelTurn: { parts: [{ text: 'a' }] } } });
    };
    caller.session.sendClientContent({ turns: 'hi' });
    await caller.message(({ text }) => text === 'a');
    caller.session.close();
    await eventually(() =>
      expect(session.received.at(-1)).toEqual({ clientContent: { turnComplete: false } }),
    );
    session.send({
      serverContent: { interrupted: true, turnComplete: true },
      usageMetadata: charge(provider, { input: 30, output: 5 }),
    });
    await expectCharged(id, 35);
  });

  it('charges an estimate for a response without reported usage, and nothing for silence', async () => {
    const { provider } = live;
    const { caller, session, id } = await open(tokens(100_000));
    caller.session.sendRealtimeInput({ audio: { data: 'AAAA', mimeType: 'audio/pcm' } });
    await eventually(() => expect(session.received).toHaveLength(2));
    caller.session.close();
    await session.closed;
    await expectCharged(id, 0);
    const next = await open(tokens(100_000));
    provider.answer = (one) => one.socket.terminate();
    next.caller.session.sendClientContent({ turns: 'hi' });
    await next.caller.closed;
    await eventually(async () => {
      const units = Number(await keyUnits(live.server.database.db, next.id));
      expect(units).toBeGreaterThan(0);
      expect(units).toBeLessThan(8_000);
    });
  });
});

/** Sends what no method of the client sends. */
function sendRaw(caller: Awaited<ReturnType<LiveServer['connect']>>, message: object): void {
  const { conn } = caller.session as unknown as { conn: { send(text: string): void } };
  conn.send(JSON.stringify(message));
}
