/** Tests that estimates of input tokens are near the counts of a tokenizer, and rarely below. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { estimateInput } from '../../../src/gateway/metering/input-estimate.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(resolve(root, path), 'utf8').slice(0, 20_000);
const asText = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

function estimate(params: object): number {
  return estimateInput(params as Record<string, unknown>, Buffer.from(JSON.stringify(params)));
}

const chat = (content: unknown) => ({ model: 'm', messages: [{ role: 'user', content }] });

describe('the estimate of a text', () => {
  it.each([
    ['prose', read('docs/explanation/limits.md'), 0.95, 1.4],
    ['code', read('src/gateway/calls/attempt.ts'), 0.95, 1.4],
    ['JSON', read('package-lock.json'), 0.9, 1.3],
    [
      'German',
      'Heute ist das Wetter schön, und wir gehen im Park spazieren. '.repeat(40),
      0.95,
      1.4,
    ],
    ['Chinese', '今天天气很好，我们去公园散步吧。'.repeat(40), 0.95, 1.7],
    ['Russian', 'Сегодня хорошая погода, и мы идём гулять в парк. '.repeat(40), 0.95, 2.5],
    ['numbers', Array.from({ length: 2_000 }, (_, at) => at * 7_919).join(','), 0.9, 1.2],
    ['Base64', Buffer.from(read('README.md')).toString('base64'), 0.6, 1.3],
  ])('is within its range of the count, for %s', (_, text, least, most) => {
    const exact = countTokens(text, asText);
    const estimated = estimate(chat(text));
    expect(estimated).toBeGreaterThanOrEqual(exact * least);
    expect(estimated).toBeLessThanOrEqual(exact * most + 30);
  });
});

it('adds the tokens of pictures in place of their bytes', () => {
  const text = { type: 'text', text: 'What is this?' };
  const url = `data:image/png;base64,${'A'.repeat(1_000_000)}`;
  const picture = { type: 'image_url', image_url: { url } };
  const beside = estimate(chat([text, picture])) - estimate(chat([text]));
  expect(beside).toBeGreaterThan(900);
  expect(beside).toBeLessThan(1_200);
});

it('grows in proportion to a text beyond what it scans', () => {
  const [one, four] = [1, 4].map((times) => estimate(chat('word '.repeat(100_000 * times))));
  expect(four! / one!).toBeCloseTo(4, 1);
});
