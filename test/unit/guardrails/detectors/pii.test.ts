/** Tests which personal data the checks find and replace, and with which precision and recall. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadPiiRules, piiSearch } from '../../../../src/guardrails/detectors/pii/find-pii.ts';
import type { Span } from '../../../../src/guardrails/detectors/span.ts';
import {
  embeddedPiiCategories,
  type PiiCategory,
} from '../../../../src/model/guardrails/pii-categories.ts';
import { runAtOnce } from '../../../../src/slices.ts';
import { measure } from '../../../corpora/guardrails/labelled-text.ts';
import { piiTexts } from '../../../corpora/guardrails/pii.ts';
import { InlineJudge } from './inline-judgement.ts';

const judge = new InlineJudge();
let find: (text: string) => readonly Span[];

beforeAll(async () => {
  const search = piiSearch(new Set(embeddedPiiCategories), await loadPiiRules());
  find = (text) => runAtOnce(search(text));
});

afterAll(() => judge[Symbol.asyncDispose]());

const foundIn = (text: string): string[] =>
  find(text).map(({ start, end, label }) => `${label} ${text.slice(start, end)}`);

describe('the finder of personal data', () => {
  it.each(['tuned', 'heldBack'] as const)(
    'finds them with a precision of 0.99 and a recall of 0.97 in %s texts',
    (part) => {
      const { precision, recall, missed, wrong } = measure(piiTexts(part), find);
      expect(precision, wrong.join('\n')).toBeGreaterThanOrEqual(0.99);
      expect(recall, missed.join('\n')).toBeGreaterThanOrEqual(0.97);
    },
  );

  it.each([
    ['full-width digits', 'card ４１１１ 1111 1111 1111', 'CREDIT_CARD ４１１１ 1111 1111 1111'],
    ['Arabic digits', 'card ٤١١١١١١١١١١١١١١١', 'CREDIT_CARD ٤١١١١١١١١١١١١١١١'],
    [
      'zero-width blanks',
      'jane\u200b@exa\u200bmple.com',
      'EMAIL_ADDRESS jane\u200b@exa\u200bmple.com',
    ],
    ['soft hyphens', '4111\u00ad1111 1111 1111', 'CREDIT_CARD 4111\u00ad1111 1111 1111'],
    ['typographic dashes', '123\u201145\u20116789', 'SSN 123\u201145\u20116789'],
    [
      'no-break blanks',
      'DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000',
      'IBAN DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000',
    ],
    ['mathematical letters', '𝗃𝖺𝗇𝖾@example.com', 'EMAIL_ADDRESS 𝗃𝖺𝗇𝖾@example.com'],
    ['a spelt at sign', 'jane (at) example (dot) com', 'EMAIL_ADDRESS jane (at) example (dot) com'],
    ['surrogate pairs before it', '😀😀 jane@example.com', 'EMAIL_ADDRESS jane@example.com'],
  ])('finds them behind %s, with their exact place', (_, text, found) => {
    expect(foundIn(text)).toEqual([found]);
  });

  it.each([
    ['a date behind a word for telephones', 'the call of 2024-11-05, and call 2026.03.31'],
    ['a repository', 'git@github.com:acme/repo.git and ssh://git@gitlab.com/acme/repo'],
    ['a password in an address', 'https://user:secret@host.com/path'],
    ['packages and files', 'lodash@4.17.21 icon@2x.png getty@tty1.service @types/node@latest'],
    [
      'private and reserved addresses',
      '10.0.0.1 172.17.0.2 192.168.1.9 127.0.0.1 0.0.0.0 ::1 fe80::1',
    ],
    ['versions', 'version 1.2.3.4, v5.6.7.8, Chrome/120.0.0.0 and firmware 9.8.7.6'],
    ['code', 'std::vector<a::b> x = 0x1f; dead::beef'],
    [
      'names of models and licence plates',
      'gpt-5.4-nano claude-opus-4-1-20250805 B-MW 1234 ABC-1234',
    ],
    ['a card with a wrong check digit', 'card 4111 1111 1111 1112'],
    ['numbers without the word that some need', '943 476 5919, 021000021, 44051401458'],
    ['social security numbers that were never issued', '000-12-3456 666-12-3456 900-12-3456'],
  ])('finds none in %s', (_, text) => {
    expect(foundIn(text)).toEqual([]);
  });

  it('finds them across the pieces of a long text, each once', () => {
    const filler = 'plain words follow here. '.repeat(655);
    const text = Array.from({ length: 8 }, (_, at) => `${filler}jane${at}@example.com `).join('');
    expect(text.length).toBeGreaterThan(100_000);
    const finding = judge.redact({ 'gatewright.pii': { redact: true } }, text);
    return expect(finding).resolves.toEqual([
      text.replace(/jane(\d)@example\.com/g, (_, at) => `{{EMAIL_ADDRESS_${Number(at) + 1}}}`),
    ]);
  });
});

describe('the check of personal data', () => {
  const categories: PiiCategory[] = ['EMAIL_ADDRESS', 'PHONE_NUMBER'];

  it('fails on a requested category, names it, and keeps the values out of the result', async () => {
    const judged = await judge.judge(
      { 'portkey.pii': { categories }, deny: true },
      'mail jane@example.com',
    );
    expect(judged).toMatchObject({ isDenied: true });
    expect(judged.results[0]!.checks[0]!.data).toEqual({
      explanation: 'the text contains personal data: EMAIL_ADDRESS',
      data: { detectedCategories: ['EMAIL_ADDRESS'], count: 1 },
    });
    expect(JSON.stringify(judged.results)).not.toContain('jane');
  });

  it('passes a text with other categories only', async () => {
    const item = { 'portkey.pii': { categories }, deny: true };
    expect(await judge.judge(item, 'SSN 123-45-6789')).toMatchObject({ passes: true });
  });

  it('demands personal data with `not`', async () => {
    const item = { 'portkey.pii': { categories, not: true }, deny: true };
    expect(await judge.judge(item, 'nothing here')).toMatchObject({ isDenied: true });
    expect(await judge.judge(item, 'jane@example.com')).toMatchObject({ isDenied: false });
  });

  it('replaces exactly the values, and gives equal values of all passages equal numbers', async () => {
    const item = { 'portkey.pii': { categories, redact: true }, deny: true };
    const texts = ['😀 a@example.com, b@example.com', 'again b@example.com or +1 415 555 2671.'];
    expect(await judge.redact(item, ...texts)).toEqual([
      '😀 {{EMAIL_ADDRESS_1}}, {{EMAIL_ADDRESS_2}}',
      'again {{EMAIL_ADDRESS_2}} or {{PHONE_NUMBER_1}}.',
    ]);
    expect(await judge.judge(item, ...texts)).toMatchObject({
      passes: true,
      results: [{ transformed: true }],
    });
  });

  it('shows later checks of the guardrail the replaced text', async () => {
    const item = {
      'gatewright.pii': { redact: true },
      contains: { words: ['jane'], operator: 'none' },
      deny: true,
    };
    expect(await judge.judge(item, 'jane@example.com')).toMatchObject({ passes: true });
  });

  it('has nothing to judge without text, and judges no unknown category', async () => {
    const item = { 'gatewright.pii': {}, deny: true };
    expect(await judge.judge(item, '')).toMatchObject({ isDenied: false });
    const model = { 'portkey.pii': { categories: ['NAME'] }, deny: true };
    expect(await judge.judge(model, 'x')).toMatchObject({ isDenied: true });
  });

  it('finds the numbers of a text with more of them than are validated', async () => {
    const many = Array.from({ length: 400 }, (_, at) => `+1 415 ${200 + at} 2671`);
    const item = { 'gatewright.pii': { redact: true } };
    const [text] = await judge.redact(item, many.join('\n'));
    expect(text).not.toMatch(/\d{4}/);
  });
});
