/** Verifies that steps which read a whole body can be interrupted, and find the same as at once. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../../src/gateway/callers/exchange.ts';
import { textChanges } from '../../../src/gateway/guardrails/guarded-response.ts';
import { requireUnambiguousBody } from '../../../src/gateway/guardrails/unambiguous-body.ts';
import { findAmbiguousMembers } from '../../../src/gateway/references/owned-references.ts';
import { changeBody } from '../../../src/gateway/transfer/changed-body.ts';
import { findRequestPassages } from '../../../src/guardrails/texts/request-passages.ts';
import { TextsUnreadable } from '../../../src/guardrails/texts/stored-text.ts';
import { findDuplicateKeys } from '../../../src/model/json/json-object.ts';
import { runAtOnce, runInTurns, type Slices } from '../../../src/slices.ts';

const bytes = 2 * 1024 * 1024;
const list = (item: string): string =>
  `[${Array.from({ length: Math.floor(bytes / (item.length + 1)) }, () => item).join(',')}]`;

/** Values of about 2 MiB, which `toEqual` takes seconds to compare. */
const shapes: Readonly<Record<string, string>> = {
  texts: list('"some text"'),
  messages: list('{"role":"user","content":"a"}'),
  lists: list('[[[[]]]]'),
  'a message with many parts': `[{"role":"user","content":${list('{"type":"text","text":"a"}')}}]`,
  blanks: `${' '.repeat(bytes)}0`,
  'a long text': `"${'a'.repeat(bytes)}"`,
};

/** Runs the work and counts its interruptions. */
function interruptions(work: Slices<unknown>): number {
  for (let count = 0; ; count += 1) if (work.next().done === true) return count;
}

function exchangeOf(text: string): Exchange {
  const params = JSON.parse(text) as Exchange['params'];
  return { body: Buffer.from(text), params, isJson: true } as Exchange;
}

describe.each(Object.entries(shapes))('a body with %s', (name, value) => {
  const text = `{"model":"m","file_ids":["a"],"messages":${value}}`;
  const exchange = exchangeOf(text);
  const { body, params } = exchange;

  it('is searched for duplicate members with interruptions', () => {
    const least = name === 'blanks' || name === 'a long text' ? 1 : 10;
    for (const work of [
      () => findDuplicateKeys(body!),
      () => requireUnambiguousBody(exchange),
      () => findAmbiguousMembers(exchange),
    ]) {
      expect(interruptions(work())).toBeGreaterThanOrEqual(least);
    }
  });

  it('is searched for texts with interruptions, which find the same texts', async () => {
    const at = runAtOnce(findRequestPassages('chat_completions', params, false));
    const sliced = () => findRequestPassages('chat_completions', params, true);
    expect(interruptions(sliced())).toBeGreaterThan(2);
    expect(isDeepStrictEqual(await runInTurns(sliced()), at)).toBe(true);
  });

  it('is changed with interruptions, to the same bytes', async () => {
    const { passages } = runAtOnce(findRequestPassages('chat_completions', params, false));
    const texts = passages.map((passage) => `${passage.text} changed`);
    const changes = runAtOnce(textChanges(params, passages, texts)) ?? new Map([['model', 'n']]);
    expect(interruptions(changeBody(body!, changes))).toBeGreaterThan(3);
    const changed = await runInTurns(changeBody(body!, changes));
    const whole = { ...params, ...Object.fromEntries(changes) };
    expect(isDeepStrictEqual(JSON.parse(changed.toString()), whole)).toBe(true);
  });
});

it('finds a duplicate member at the end of a long body', async () => {
  const body = Buffer.from(`{"a":${shapes.messages},"b":{"c":1,"c":2}}`);
  expect(await runInTurns(findDuplicateKeys(body))).toBe(true);
});

it.each([
  ['texts far down', `${'['.repeat(90)}${list('"a"')}${']'.repeat(90)}`, /nested deeply/],
  ['JSON within a text', JSON.stringify(`[${list('"\\u0061"')}]`), /escaped strings/],
])('refuses %s that would take much memory or time', (_, value, reason) => {
  const { params } = exchangeOf(`{"messages":[{"role":"user","content":${value}}]}`);
  const search = () => runAtOnce(findRequestPassages('chat_completions', params, true));
  expect(search).toThrow(TextsUnreadable);
  expect(search).toThrow(reason);
});
