/** Checks that no request can use more than its computed bound, whatever parameters it has. */
import { describe, expect, it } from 'vitest';
import { boundOf, outputClamps, unboundedParam } from '../../../src/gateway/metering/bound.ts';
import { endpointOf } from '../../../src/model/endpoints/catalogue.ts';
import type { MeteringName } from '../../../src/model/endpoints/metering.ts';

const chat = 'chat_completions';
const outputOf = (params: object, endpoint: MeteringName = chat): number =>
  boundOf(endpoint, params as Record<string, unknown>, 100, null, null).outputTokens;

describe('the most that a request can use', () => {
  it.each([
    [{ max_tokens: 50 }, 50],
    [{ max_completion_tokens: 50 }, 50],
    [{ max_completion_tokens: 1, max_tokens: 5_000 }, 5_000],
    [{ max_tokens: 50, n: 4 }, 200],
    [{ max_tokens: 50, best_of: 4 }, 200],
    [{ max_tokens: null, n: null }, 16_384],
    [{}, 16_384],
    [{ max_tokens: -1 }, 16_384],
    [{ max_tokens: -1, max_completion_tokens: 5 }, 16_384],
  ])('bounds a chat with %j at %d tokens', (params, tokens) => {
    expect(outputOf(params)).toBe(tokens);
  });

  it.each([
    [{ prompt: 'x', max_tokens: 10 }, 10],
    [{ prompt: ['x', 'y', 'z'], max_tokens: 10 }, 30],
    [{ prompt: ['x', 'y'], max_tokens: 10, n: 2, best_of: 5 }, 100],
    [{ prompt: [[1, 2], [3]], max_tokens: 10 }, 20],
    [{ prompt: [1, 2, 3], max_tokens: 10 }, 10],
    [{ prompt: [1, 'x', 'y'], max_tokens: 10 }, 30],
    [{ prompt: [], max_tokens: 10 }, 10],
  ])('bounds a completion with %j at %d tokens', (params, tokens) => {
    expect(outputOf(params, 'completions')).toBe(tokens);
  });
});

describe('the most that a request of another endpoint can use', () => {
  it.each([
    ['conversations', { completion_args: { max_tokens: 50 } }, 50],
    ['conversations', {}, 16_384],
    ['async_chats', { request: { max_tokens: 50, n: 2 } }, 100],
    ['anthropic_completions', { max_tokens_to_sample: 50 }, 50],
    ['images', { n: 3 }, 3 * 8_192],
    ['speech', { input: 'hällo' }, 1_024 + 6 * 8],
    // The body has 100 bytes.
    ['speech', { input: ['hällo'] }, 1_024 + 100 * 8],
    ['speech', { input: 'hällo', text: 'longer' }, 1_024 + 100 * 8],
    ['images', { num_images: 3 }, 3 * 8_192],
    ['images', { n: 2, sample_count: 3 }, 3 * 8_192],
    ['transcriptions', {}, 8_192],
    ['input', { max_tokens: 50 }, 0],
  ] as const)('bounds %s with %j at %d tokens', (metering, params, tokens) => {
    expect(outputOf(params, metering)).toBe(tokens);
  });

  it('rewrites an object with a limit, so that every reader finds the same number', () => {
    const params = { completion_args: { max_tokens: 40, temperature: 1 } };
    const clamps = (granted: number) =>
      outputClamps('conversations', params, granted, 'mistral-ai');
    expect(clamps(40)).toEqual([['completion_args', { max_tokens: 40, temperature: 1 }]]);
    expect(clamps(30)).toEqual([['completion_args', { max_tokens: 30, temperature: 1 }]]);
  });

  it.each([
    'maxTokens',
    'max_new_tokens',
    'max_output_tokens',
    'maxOutputTokens',
    'max_gen_len',
    'max_length',
    'max_tokens_to_sample',
  ])('clamps %s, which another format calls the limit of the output', (name) => {
    const clamps = (params: object) => outputClamps(chat, { ...params }, 40, 'openai');
    expect(clamps({ [name]: 1_000 })).toEqual([
      ['max_completion_tokens', 40],
      [name, 40],
    ]);
    expect(clamps({ max_tokens: 30, [name]: 1_000 })).toEqual([[name, 40]]);
    expect(clamps({ max_tokens: 30, [name]: 20 })).toEqual([]);
    expect(unboundedParam(chat, { [name]: '1000' })).toBe(name);
  });

  /** Where providers, their proxies and libraries look for parameters. */
  const outers = ['extra_body', 'options', 'parameters', 'generation_config', 'sampling_params'];
  it.each([
    'n_predict',
    'num_predict',
    'maxTokenCount',
    'tokens_to_generate',
    'max_gen_toks',
    'max-tokens',
    'max tokens',
    'max__tokens',
    'max_tokens\u0000',
    'max_response_tokens',
    'max_reasoning_tokens',
    'MAX_NEW_TOKENS',
    'ｍａｘ_tokens',
  ])('clamps %j at the top and below every member', (name) => {
    for (const huge of [1_000_000, '1000000', -1]) {
      const clamps = (params: object) =>
        outputClamps(chat, { max_tokens: 5, ...params }, 40, 'openai');
      if (typeof huge === 'number') expect(clamps({ [name]: huge })).toEqual([[name, 40]]);
      for (const outer of outers) {
        const of = (value: unknown) => ({ a: [{ temperature: 1, [name]: value }] });
        expect([outer, clamps({ [outer]: of(huge) })]).toEqual([outer, [[outer, of(40)]]]);
      }
    }
  });

  it.each([
    'n ',
    'best-of',
    'num_return_sequences',
    'num_generations',
    'num_completions',
    'numResults',
    'candidateCount',
    'beam_width',
    'num_beams',
    'n_choices',
    'sampleCount',
    'num_images_per_prompt',
  ])('counts %j as copies, at the top and below every member', (name) => {
    expect(outputOf({ max_tokens: 10, [name]: 50 })).toBe(500);
    for (const outer of outers) {
      expect(outputOf({ max_tokens: 10, [outer]: { a: [{ [name]: '50' }] } })).toBe(500);
    }
    expect(unboundedParam(chat, { [name]: 1.5 })).toBe(name);
    expect(unboundedParam(chat, { extra_body: { [name]: 1e300 } })).toBe(`extra_body.${name}`);
  });

  it('adds thoughts with a budget of their own, and predicted text that may be rejected', () => {
    expect(outputOf({ max_tokens: 10, thinking_budget: 30 })).toBe(40);
    const prediction = { type: 'content', content: [{ type: 'text', text: 'abcde' }, 'x'] };
    expect(outputOf({ max_tokens: 10, n: 2, prediction })).toBe(2 * 16);
    const params = { max_tokens: 40, thinking_budget: 30 };
    expect(outputClamps(chat, params, 50, 'qwen')).toEqual([
      ['max_tokens', 20],
      ['thinking_budget', 20],
    ]);
  });

  it('leaves thoughts to the model where their budget is negative, and within the output', () => {
    const of = (thinkingBudget: number) => ({
      generationConfig: { maxOutputTokens: 40, thinkingConfig: { thinkingBudget } },
    });
    for (const [budget, sent] of [
      [-1, -1],
      [30, 30],
      [90, 40],
    ] as const) {
      const [change] = outputClamps('gemini', of(budget), 40, 'google');
      expect(change).toEqual(['generationConfig', of(sent).generationConfig]);
    }
  });

  it.each([
    { stop_token_ids: [50_256], eos_token_id: 50_256, truncate_prompt_tokens: 9_000 },
    { messages: [{ role: 'user', content: 'x', max_tokens: 9_000 }], tools: [{ num_beams: 9 }] },
    {
      response_format: { schema: { maxLength: 9_000 } },
      generationConfig: { responseSchema: { n: 9 } },
    },
    { metadata: { n: 9, max_tokens: 9_000 }, logprobs: true, top_logprobs: 9, sample_rate: 24_000 },
    { plugins: [{ id: 'web', max_results: 9 }], search: { num_search_results: 9 }, seed: 9_000 },
  ])('leaves %j as it is', (params) => {
    expect(outputClamps(chat, { max_tokens: 30, ...params }, 40, 'openai')).toEqual([]);
    expect(outputOf({ max_tokens: 30, ...params })).toBe(30);
  });

  it('rejects a member with more members than it reads', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`a${at}`, at]));
    expect(unboundedParam(chat, { extra_body: many })).toBe('extra_body');
    expect(unboundedParam(chat, { messages: [many] })).toBe(null);
  });

  it('leaves limits of the input as they are', () => {
    const params = { max_tokens: 30, max_prompt_tokens: 1_000, max_tool_calls: 1_000 };
    expect(outputClamps(chat, params, 40, 'openai')).toEqual([]);
  });

  it.each([{ completion_args: 'x' }, { completion_args: { MAX_TOKENS: 1 } }])(
    'rejects %j, in which a provider could read another number',
    (params) => {
      expect(unboundedParam('conversations', params)).toBe('completion_args.max_tokens');
    },
  );
});

describe('a request that was granted 40 tokens', () => {
  it.each([
    ['openai', {}, [['max_completion_tokens', 40]]],
    ['azure-openai', {}, [['max_completion_tokens', 40]]],
    ['mistral-ai', {}, [['max_tokens', 40]]],
    ['openai', { max_tokens: 40 }, []],
    ['openai', { max_tokens: 41 }, [['max_tokens', 40]]],
    ['openai', { max_tokens: -1 }, [['max_tokens', 40]]],
    ['openai', { max_completion_tokens: 3, max_tokens: 90 }, [['max_tokens', 40]]],
    ['openai', { max_tokens: 40, n: 2 }, [['max_tokens', 20]]],
  ])('clamps a request to %s with %j', (service, params, clamps) => {
    expect(outputClamps(chat, params as Record<string, unknown>, 40, service)).toEqual(clamps);
  });
});

it.each([
  [{ n: '5' }, 'n'],
  [{ n: 1.5 }, 'n'],
  [{ max_tokens: '100000' }, 'max_tokens'],
  [{ max_completion_tokens: [1] }, 'max_completion_tokens'],
  [{ max_tokens: 1e300 }, 'max_tokens'],
  [{ n: 2, max_tokens: 7 }, null],
  [{ n: null }, null],
])('rejects %j, which a provider could read as another number: %s', (params, name) => {
  expect(unboundedParam(chat, params)).toBe(name);
});

it.each([
  '/chat/completions',
  '/chat/completions/',
  '/Chat/Completions',
  '/chat/%63ompletions',
  '/chat/%43OMPLETIONS//',
])('meters %s as the number that a provider may read', (path) => {
  expect(endpointOf(path)).toBe(chat);
});
