/** Verifies that spellings which look alike do not hide a text from checks that search what must not occur. */
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { foldLongText, foldText } from '../../../src/guardrails/detectors/folded-text.ts';
import { evaluateGuardrails } from '../../../src/guardrails/evaluate.ts';
import {
  buildGuardrail,
  type CheckTools,
  readInlineGuardrail,
} from '../../../src/guardrails/guardrail.ts';
import { Searches } from '../../../src/guardrails/searches.ts';
import { runAtOnce } from '../../../src/slices.ts';
import { chatSubject } from '../../support/guardrails/chat-subject.ts';

const searches = new Searches();
const tools = { searches } as unknown as CheckTools;
afterAll(() => searches[Symbol.dispose]());

function judge(item: Readonly<Record<string, unknown>>, text: string) {
  const guardrail = buildGuardrail(readInlineGuardrail(item, 'one'), tools);
  const passages = [{ path: ['messages', 0, 'content'], text }];
  return evaluateGuardrails([guardrail], { ...chatSubject, passages, lastCount: 1 }, 0);
}

const word = 'geheimwort café';
const contains = { 'default.contains': { words: [word], operator: 'none' } };
const matches = { 'default.regexMatch': { rule: 'geheimwort caf.', not: true } };
const replaces = { 'default.regexReplace': { rule: 'geheimwort caf.', redactText: '[x]' } };

const fullWidth = (text: string) =>
  text.replace(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0));

const spellings: readonly (readonly [string, string])[] = [
  ['zero-width characters', [...word].join('\u200b')],
  ['a soft hyphen', word.replace('heim', 'he\u00adim')],
  ['tag characters', word.replace('w', '\u{e0061}w')],
  ['a variation selector', word.replace('w', 'w\ufe0f')],
  ['directions', word.replace('heim', '\u202eheim\u202c')],
  ['full-width letters', fullWidth(word)],
  ['mathematical letters', word.replace('w', '\u{1d430}')],
  ['a no-break blank', word.replace(' ', '\u00a0')],
];

const inTwoParts = ['a letter and its mark apart', word.normalize('NFD')] as const;

describe.each([
  ['a short text', 'see '],
  ['a long text', 'äpfel 😀 '.repeat(60_000)],
] as const)('in %s', (_, before) => {
  it.each([...spellings, inTwoParts])('finds a word with %s', async (_name, spelling) => {
    const text = `${before}${spelling} end`;
    expect((await judge(contains, text)).passes).toBe(false);
    expect((await judge(matches, text)).passes).toBe(false);
  });

  it.each(spellings)('replaces a match with %s, and nothing else', async (_name, spelling) => {
    const text = `${before}${spelling} ｅnd\u200b`;
    const { passages } = await judge(replaces, text);
    expect(passages[0]!.text === `${before}[x] ｅnd\u200b`).toBe(true);
  });
});

it('passes a text without the word, and a word that is forbidden in its parts only', async () => {
  for (const text of ['geheim wort café', 'naïve \u200b text', 'ｇeheim']) {
    expect((await judge(contains, text)).passes).toBe(true);
    expect((await judge(matches, text)).passes).toBe(true);
    expect((await judge(replaces, text)).passages[0]!.text).toBe(text);
  }
});

it('folds a long text like its parts, and maps each place back', () => {
  const pieces = fc.constantFrom('a', '\u200b', 'ｂ', '😀', '\u{1d430}', 'é', ' ');
  fc.assert(
    fc.property(fc.array(pieces, { minLength: 1, maxLength: 50 }), fc.nat(40), (list, shift) => {
      const text = 'x'.repeat(64 * 1024 - shift) + list.join('') + 'y'.repeat(100);
      const long = runAtOnce(foldLongText(text));
      expect(long.text === foldText(text).text).toBe(true);
      for (let at = 64 * 1024 - 60; at < long.text.length; at += 1) {
        const letter = text.slice(long.startOf(at), long.endOf(at + 1));
        expect(foldText(letter).text).toContain(long.text[at]);
      }
    }),
    { numRuns: 50 },
  );
});
