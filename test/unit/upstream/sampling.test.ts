/** Verifies that models of OpenAI receive settings of the sampling and efforts only where they accept them. */
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';

const messages = translationFor('/messages', 'openai', false)!;
const gemini = translationFor('/v1beta/models:generateContent', 'openai', false)!;

function sent(translation: typeof messages, body: object, service = 'openai') {
  const dropped: string[] = [];
  const terms = { service, unsupported: null, dropped };
  return {
    request: translation.request(body as Readonly<Record<string, unknown>>, terms),
    dropped,
  };
}

const message = { max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
const content = { contents: [{ parts: [{ text: 'Hello' }] }] };
const [refused, carried] = [{}, { temperature: 0.5, top_p: 0.9 }];

describe('a message with a temperature and a nucleus', () => {
  it.each([
    ['gpt-4o', {}, carried],
    ['gpt-5-chat-latest', {}, carried],
    ['gpt-5', {}, refused],
    ['gpt-5-mini-2025-08-07', {}, refused],
    ['openai/o4-mini', {}, refused],
    ['gpt-5.1-codex-max', {}, refused],
    ['gpt-5.2-pro', {}, refused],
    ['gpt-5.2', {}, carried],
    ['gpt-5.2', { output_config: { effort: 'low' } }, refused],
    ['gpt-5.2', { thinking: { type: 'disabled' } }, carried],
  ])('carries both to %s with %o only while it does not reason', (model, more, expected) => {
    const body = { ...message, model, temperature: 0.5, top_p: 0.9, ...more };
    const { request, dropped } = sent(messages, body);
    const { temperature, top_p } = request;
    expect({ temperature, top_p }).toEqual({
      temperature: undefined,
      top_p: undefined,
      ...expected,
    });
    expect(dropped).toEqual(expected === carried ? [] : ['temperature', 'top_p']);
  });

  it('carries the usual temperature, and both to other services', () => {
    const usual = sent(messages, { ...message, model: 'gpt-5', temperature: 1 });
    expect([usual.request.temperature, usual.dropped]).toEqual([1, []]);
    const other = sent(messages, { ...message, model: 'gpt-5', temperature: 0.5 }, 'vllm');
    expect([other.request.temperature, other.dropped]).toEqual([0.5, []]);
  });
});

describe("a request in Gemini's form", () => {
  it('has the settings that are left out named by their paths in that form', () => {
    const generationConfig = { temperature: 0.5, topP: 0.9, presencePenalty: 1 };
    const { request, dropped } = sent(gemini, { ...content, model: 'gpt-5', generationConfig });
    expect(Object.keys(request)).toEqual(['model', 'messages']);
    expect(dropped).toEqual([
      'generationConfig.temperature',
      'generationConfig.topP',
      'generationConfig.presencePenalty',
    ]);
  });

  it.each([
    ['gpt-5', 0, undefined, []],
    ['gpt-5.1', 0, 'none', []],
    ['gpt-5', 8000, 'medium', []],
    ['gpt-4o', 8000, undefined, ['generationConfig.thinkingConfig']],
  ])('has an effort that %s knows for a budget of %i', (model, budget, word, names) => {
    const generationConfig = { thinkingConfig: { thinkingBudget: budget } };
    const { request, dropped } = sent(gemini, { ...content, model, generationConfig });
    expect([request.reasoning_effort, dropped]).toEqual([word, names]);
  });
});
