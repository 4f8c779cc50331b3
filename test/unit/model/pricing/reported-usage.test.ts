/**
 * Checks that the usage of every provider is understood, so that nothing is uncharged or charged
 * twice.
 */
import { describe, expect, it } from 'vitest';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
} from '../../../../src/model/pricing/reported-usage.ts';

function used(...usages: readonly object[]) {
  const stated = newReportedUsage();
  for (const usage of usages) addReportedUsage(stated, { usage });
  const { details: _, ...tokens } = completeUsage(stated, true) ?? {};
  return Object.keys(tokens).length === 0 ? null : tokens;
}

const plain = { cachedInputTokens: 0, cacheWriteTokens: 0 };

it('counts cached input of OpenAI as such', () => {
  const stored = { cached_tokens: 10, cache_write_tokens: 60 };
  const tokens = { inputTokens: 100, outputTokens: 7, cachedInputTokens: 10, cacheWriteTokens: 60 };
  const chat = { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 };
  expect(used({ ...chat, prompt_tokens_details: stored })).toEqual(tokens);
  const response = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };
  expect(used({ ...response, input_tokens_details: stored })).toEqual(tokens);
});

it('counts input once when a proxy reports it in both OpenAI and Anthropic fields', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    cache_read_input_tokens: 10,
    cache_creation_input_tokens: 60,
    prompt_tokens_details: { cached_tokens: 10 },
  };
  expect(used(usage)).toEqual({
    inputTokens: 100,
    outputTokens: 7,
    cachedInputTokens: 10,
    cacheWriteTokens: 60,
  });
});

it('adds the cached input of Anthropic to the input, whichever event reports it', () => {
  const begins = {
    input_tokens: 30,
    output_tokens: 1,
    cache_read_input_tokens: 10,
    cache_creation_input_tokens: 60,
  };
  const tokens = { inputTokens: 100, outputTokens: 7, cachedInputTokens: 10, cacheWriteTokens: 60 };
  for (const ends of [
    { output_tokens: 7 },
    { input_tokens: 30, output_tokens: 7 },
    { input_tokens: null, cache_read_input_tokens: null, output_tokens: 7 },
  ]) {
    expect(used(begins, ends)).toEqual(tokens);
  }
});

it('adds reasoning tokens of xAI and Google to the output', () => {
  const usage = { prompt_tokens: 37, completion_tokens: 530, total_tokens: 800 };
  const details = { completion_tokens_details: { reasoning_tokens: 233 } };
  const tokens = { ...plain, inputTokens: 37, outputTokens: 763 };
  expect(used({ ...usage, ...details })).toEqual(tokens);
  expect(used(usage)).toEqual(tokens);
  // Each event of a stream reports the total so far.
  const earlier = { prompt_tokens: 37, completion_tokens: 3, total_tokens: 90 };
  expect(used(earlier, usage)).toEqual(tokens);
});

it('adds reasoning and citation tokens of Perplexity to the output', () => {
  const usage = { prompt_tokens: 33, completion_tokens: 700, total_tokens: 733 };
  const beside = { citation_tokens: 2000, num_search_queries: 18, reasoning_tokens: 9000 };
  const tokens = { ...plain, inputTokens: 33, outputTokens: 11_700 };
  expect(used({ ...usage, ...beside })).toEqual(tokens);
});

it('counts reasoning once when the output includes it, as other providers report', () => {
  const usage = { prompt_tokens: 33, completion_tokens: 700, total_tokens: 733 };
  const within = { reasoning_tokens: 600, completion_tokens_details: { reasoning_tokens: 600 } };
  expect(used({ ...usage, ...within })).toEqual({ ...plain, inputTokens: 33, outputTokens: 700 });
});

describe('the usage of a message of Anthropic', () => {
  const message = { type: 'message', input_tokens: 100, output_tokens: 10 };
  const compaction = { type: 'compaction', input_tokens: 5_000, output_tokens: 300 };
  const advice = { type: 'advisor_message', model: 'm', input_tokens: 700, output_tokens: 60 };
  const usageOf = (...bodies: object[]) => {
    const reported = newReportedUsage();
    for (const body of bodies) addReportedUsage(reported, body);
    return completeUsage(reported, true);
  };

  it('includes compactions and advisors, which its counts exclude', () => {
    const counts = { input_tokens: 100, output_tokens: 10 };
    const iterations = [compaction, message, advice];
    expect(usageOf({ usage: { ...counts, iterations } })).toMatchObject({
      inputTokens: 5_800,
      outputTokens: 370,
    });
    expect(usageOf({ usage: { ...counts, iterations: [message] } })).toMatchObject({
      inputTokens: 100,
      outputTokens: 10,
    });
    expect(usageOf({ usage: { ...counts, iterations: [compaction] } })).toMatchObject({
      inputTokens: 5_100,
      outputTokens: 310,
    });
  });

  it('includes them beside the counts of the first event of a stream', () => {
    const first = {
      type: 'message_start',
      message: { usage: { input_tokens: 100, output_tokens: 1 } },
    };
    const last = {
      type: 'message_delta',
      usage: { output_tokens: 10, iterations: [compaction, message] },
    };
    expect(usageOf(first, last)).toMatchObject({ inputTokens: 5_100, outputTokens: 310 });
  });

  it('is implausible when their counts are no numbers', () => {
    const iterations = [{ type: 'compaction', input_tokens: '9', output_tokens: 1 }];
    expect(usageOf({ usage: { input_tokens: 1, output_tokens: 1, iterations } })).toBe(null);
  });
});

it('takes the total of an embedding as its input when nothing else is reported', () => {
  const stated = newReportedUsage();
  addReportedUsage(stated, { usage: { total_tokens: 12 } });
  expect(completeUsage(stated, false)).toEqual({ ...plain, inputTokens: 12, outputTokens: 0 });
  expect(completeUsage(stated, true)).toBeNull();
});

it.each([-1, 1.5, '800', 1e12])('ignores a total of %s', (total_tokens) => {
  expect(used({ prompt_tokens: 1, completion_tokens: 1, total_tokens })).toBeNull();
});
