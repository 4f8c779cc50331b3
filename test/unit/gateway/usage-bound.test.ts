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
