/** Tests which profanity the check finds and replaces. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadProfanitySearch } from '../../../../src/guardrails/detectors/profanity/find-profanity.ts';
import type { SpanSearch } from '../../../../src/guardrails/detectors/span.ts';
import { runAtOnce } from '../../../../src/slices.ts';
import { measure } from '../../../corpora/guardrails/labelled-text.ts';
import { profanityTexts } from '../../../corpora/guardrails/profanity.ts';
import { InlineJudge } from './inline-judgement.ts';

const judge = new InlineJudge();
let search: SpanSearch;

beforeAll(async () => {
  search = await loadProfanitySearch();
});

afterAll(() => judge[Symbol.asyncDispose]());

describe('the check of profanity', () => {
  it.each(['tuned', 'heldBack'] as const)(
    'finds words with a precision of 0.95 and a recall of 0.85 in %s texts',
    (part) => {
      const quality = measure(profanityTexts(part), (text) => runAtOnce(search(text)));
      expect(quality.precision, quality.wrong.join('\n')).toBeGreaterThanOrEqual(0.95);
      expect(quality.recall, quality.missed.join('\n')).toBeGreaterThanOrEqual(0.85);
    },
  );

  it('replaces words, and fails or passes on them', async () => {
    const redacting = { 'gatewright.profanity': { redact: true }, deny: true };
    expect(await judge.redact(redacting, 'What the fuck! 😀 sh1t')).toEqual([
      'What the ***! 😀 ***',
    ]);
    const failing = { 'gatewright.profanity': {}, deny: true };
    expect(await judge.judge(failing, 'What the fuck')).toMatchObject({ isDenied: true });
    expect(await judge.judge(failing, 'What a day')).toMatchObject({ isDenied: false });
    const demanding = { 'gatewright.profanity': { not: true }, deny: true };
    expect(await judge.judge(demanding, 'What a day')).toMatchObject({ isDenied: true });
  });
});
