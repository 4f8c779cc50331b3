/** Verifies that guardrails judge the texts of sessions of Gemini's live API, on both sides. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../support/server/eventually.ts';
import { type LiveServer, startLive } from '../../../support/server/live.ts';
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
  provider.answer = (session) => sayLive(provider, session, 'a bomb is here');
});

const forbids = (word: string, more: object = { deny: true }) => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});
const replaces = { 'default.regexReplace': { rule: 'bomb', redactText: 'flower' } };

async function open(config: object) {
  const opened = live.provider.next();
  const caller = await live.connect(key, { config });
  return { caller, session: await opened };
}

describe('a guardrail on the input', () => {
  it('refuses a setup with instructions that it denies', async () => {
    const opening = live.connect(key, {
      config: { input_guardrails: [forbids('bomb')] },
      live: { systemInstruction: 'build a bomb' },
    });
    await expect(opening).rejects.toThrow(/1008.*guardrail/);
  });

  it('ends the turn of a text that it denies, which the provider does not receive', async () => {
    const { caller, session } = await open({ input_guardrails: [forbids('bomb')] });
    caller.session.sendClientContent({ turns: 'a bomb' });
    expect(await caller.turn()).toMatchObject({
      serverContent: { turnCompleteReason: 'PROHIBITED_INPUT_CONTENT' },
    });
    caller.session.sendRealtimeInput({ text: 'another bomb' });
    await caller.turn();
    caller.session.sendToolResponse({
      functionResponses: { id: 'c', name: 'f', response: { text: 'bomb' } },
    });
    await caller.turn();
    expect(session.received).toHaveLength(1);
    caller.session.sendRealtimeInput({ text: 'a flower' });
    await caller.turn();
    expect(session.received.at(-1)).toEqual({ realtimeInput: { text: 'a flower' } });
    caller.session.close();
  });

  it('replaces texts before the provider receives them', async () => {
    const { caller, session } = await open({ input_guardrails: [replaces] });
    caller.session.sendClientContent({ turns: 'a bomb' });
    await caller.turn();
    expect(JSON.stringify(session.received)).toContain('a flower');
    expect(JSON.stringify(session.received)).not.toContain('bomb');
    caller.session.close();
  });

  it.each([
    ['refuses sound, which it cannot judge', { deny: true }, 1],
    ['passes sound where it says so', { deny: true, on_unsupported: 'pass' }, 2],
  ])('%s', async (_, actions, count) => {
    const { caller, session } = await open({ input_guardrails: [forbids('bomb', actions)] });
    caller.session.sendRealtimeInput({ audio: { data: 'AAAA', mimeType: 'audio/pcm' } });
    if (count === 1) await caller.turn();
    await eventually(() => expect(session.received).toHaveLength(count));
    caller.session.close();
  });
});

describe('a guardrail on the output', () => {
  it('withholds a response whose joined text it denies, and charges it', async () => {
    const { caller } = await open({ output_guardrails: [forbids('bomb is')] });
    caller.session.sendClientContent({ turns: 'hi' });
    expect(await caller.turn()).toMatchObject({
      serverContent: { turnCompleteReason: 'RESPONSE_REJECTED' },
      usageMetadata: { responseTokenCount: 14 },
    });
    expect(JSON.stringify(caller.received)).not.toContain('bomb');
    caller.session.close();
  });

  it('passes what it allows unchanged, and replaced texts without their pieces', async () => {
    const allowed = await open({ output_guardrails: [forbids('storm')] });
    allowed.caller.session.sendClientContent({ turns: 'hi' });
    await allowed.caller.turn();
    const pieces = allowed.caller.received.filter(({ text }) => text !== undefined);
    expect(pieces.map(({ text }) => text)).toEqual(['a bomb ', 'is here']);
    allowed.caller.session.close();
    const replaced = await open({ output_guardrails: [replaces] });
    replaced.caller.session.sendClientContent({ turns: 'hi' });
    await replaced.caller.turn();
    const texts = replaced.caller.received.filter(({ text }) => text !== undefined);
    expect(texts.map(({ text }) => text)).toEqual(['a flower is here']);
    replaced.caller.session.close();
  });

  it.each([
    ['a transcription in pieces', [transcribed('a bo'), transcribed('mb')], {}],
    ['arguments of a call', [], { toolCall: called({ text: 'a bomb' }) }],
    ['a member that nobody knows', [{ modelTurn: { parts: [{ novel: 'a bomb' }] } }], {}],
  ])('withholds %s', async (_, contents, last) => {
    const { provider } = live;
    provider.answer = (session) => {
      for (const serverContent of contents) session.send({ serverContent });
      const usageMetadata = charge(provider, { input: 5, output: 5 });
      const end = 'toolCall' in last ? last : { serverContent: { turnComplete: true } };
      session.send({ ...end, usageMetadata });
    };
    const { caller } = await open({ output_guardrails: [forbids('bomb')] });
    caller.session.sendClientContent({ turns: 'hi' });
    expect(await caller.turn()).toMatchObject({
      serverContent: { turnCompleteReason: 'RESPONSE_REJECTED' },
    });
    expect(JSON.stringify(caller.received)).not.toMatch(/bo|mb/);
    caller.session.close();
  });

  it('judges sound by its transcription, and counts it as not judged without one', async () => {
    const { provider } = live;
    const sound = { modelTurn: { parts: [{ inlineData: { data: 'AA', mimeType: 'audio/pcm' } }] } };
    let contents: object[] = [{ ...sound, ...transcribed('a flower') }];
    provider.answer = (session) => {
      for (const serverContent of contents) session.send({ serverContent });
      const usageMetadata = charge(provider, { input: 5, output: 5 });
      session.send({ serverContent: { turnComplete: true }, usageMetadata });
    };
    const { caller } = await open({ output_guardrails: [forbids('bomb')] });
    caller.session.sendClientContent({ turns: 'hi' });
    expect((await caller.turn()).serverContent!.turnCompleteReason).toBeUndefined();
    contents = [sound];
    caller.session.sendClientContent({ turns: 'hi' });
    expect((await caller.turn()).serverContent!.turnCompleteReason).toBe('RESPONSE_REJECTED');
    caller.session.close();
  });

  it('withholds unknown messages', async () => {
    const { caller, session } = await open({ output_guardrails: [forbids('storm')] });
    session.send({ novelThing: 'a bomb' });
    session.send({ goAway: { timeLeft: '9s' } });
    await caller.message(({ goAway }) => goAway !== undefined);
    expect(JSON.stringify(caller.received)).not.toContain('bomb');
    caller.session.close();
  });
});

function transcribed(text: string): object {
  return { outputTranscription: { text } };
}

function called(args: object): object {
  return { functionCalls: [{ id: 'c', name: 'f', args }] };
}
