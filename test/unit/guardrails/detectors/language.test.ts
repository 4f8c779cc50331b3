/** Tests the checks of language and gibberish, with the real language model in its thread. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { letterPairs } from '../../../../scripts/letter-pairs/letter-pairs.ts';
import { gibberishTexts, textsInLanguages } from '../../../corpora/guardrails/languages.ts';
import { InlineJudge } from './inline-judgement.ts';

const judge = new InlineJudge();
const root = resolve(import.meta.dirname, '../../../..');

afterAll(() => judge[Symbol.asyncDispose]());

async function isDenied(item: Record<string, unknown>, text: string): Promise<boolean> {
  return (await judge.judge({ ...item, deny: true }, text)).isDenied;
}

async function shareOf(count: number, denials: readonly Promise<boolean>[]): Promise<number> {
  return (await Promise.all(denials)).filter(Boolean).length / count;
}

const german = 'Könnten Sie mir bitte erklären, wie dieser Vertrag gekündigt werden kann?';
const english = 'Could you please explain to me how this contract can be terminated?';

describe('the check of language', () => {
  it('accepts 0.97 of the texts in a listed language, and refuses 0.99 of the others', async () => {
    const texts = textsInLanguages(60, 10);
    const own = texts.map(({ code, text }) =>
      isDenied({ 'portkey.language': { language: code } }, text),
    );
    expect(await shareOf(texts.length, own)).toBeLessThanOrEqual(0.03);
    const foreign = texts.map(({ code, text }) => {
      const other = code === 'fra_Latn' ? 'jpn_Jpan' : 'fra_Latn';
      return isDenied({ 'portkey.language': { language: other } }, text);
    });
    expect(await shareOf(texts.length, foreign)).toBeGreaterThanOrEqual(0.99);
  });

  it('accepts any language of a list, and inverts with `not`', async () => {
    const list = { language: ['eng_Latn', 'deu_Latn'] };
    expect(await isDenied({ 'portkey.language': list }, german)).toBe(false);
    expect(await isDenied({ 'portkey.language': { ...list, not: true } }, german)).toBe(true);
    expect(await isDenied({ 'portkey.language': { language: 'eng_Latn' } }, german)).toBe(true);
  });

  it('judges neither short texts nor code', async () => {
    const item = { 'portkey.language': { language: 'jpn_Jpan' } };
    expect(await isDenied(item, 'ok, thanks')).toBe(false);
    const code = 'const total = items.reduce((sum, { price }) => sum + price, 0);\n'.repeat(20);
    expect(await isDenied(item, `\`\`\`ts\n${code}\`\`\``)).toBe(false);
    expect(await isDenied(item, `${english}\n\`\`\`ts\n${code}\`\`\``)).toBe(true);
  });

  it('judges long texts', async () => {
    const item = { 'portkey.language': { language: 'deu_Latn' } };
    expect(await isDenied(item, `${german} `.repeat(5_000))).toBe(false);
    expect(await isDenied(item, `${english} `.repeat(5_000))).toBe(true);
  });
});

describe('the check of gibberish', () => {
  it('equals the data generated from the declaration of human rights', () => {
    const stored: unknown = JSON.parse(
      readFileSync(resolve(root, 'src/guardrails/detectors/language/letter-pairs.json'), 'utf8'),
    );
    expect(stored).toEqual(letterPairs());
  });

  it('refuses 0.98 of random letters, and no text in a language', async () => {
    const item = { 'portkey.gibberish': {} };
    const senseless = gibberishTexts(200).map((text) => isDenied(item, text));
    expect(await shareOf(200, senseless)).toBeGreaterThanOrEqual(0.98);
    const texts = textsInLanguages(40, 10);
    const refused = texts.map(({ text }) => isDenied(item, text));
    expect(await shareOf(texts.length, refused)).toBe(0);
  });

  it.each([
    ['a short text', 'qwrtzp sdfg'],
    ['code', '```\nxqzw jkvb qqq zzz xxv bbn mmk wwq zzx jjq kkz vvx qqw\n```'],
    [
      'hashes and identifiers',
      'd41d8cd98f00b204e9800998ecf8427e kQzXvBnM gpt-5.4-nano a_b_c x86_64',
    ],
    ['another script', 'Не могли бы вы объяснить, как можно расторгнуть этот договор?'],
  ])('does not judge %s', async (_, text) => {
    expect(await isDenied({ 'portkey.gibberish': {} }, text)).toBe(false);
  });

  it('inverts with `not`', async () => {
    const item = { 'portkey.gibberish': { not: true } };
    expect(await isDenied(item, english)).toBe(true);
    expect(await isDenied(item, gibberishTexts(1)[0]!)).toBe(false);
  });
});
