/** Verifies that texts are split and changed exactly, whatever their characters. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextLimit } from '../../../../src/guardrails/remote/remote-service.ts';
import {
  batchTexts,
  changePassage,
  lengthIn,
  splitSelected,
} from '../../../../src/guardrails/remote/text-pieces.ts';

const whole = (text: string) => ({ text, passage: 0, from: 0 });
const limits: fc.Arbitrary<TextLimit> = fc.record({
  unit: fc.constantFrom('characters', 'bytes'),
  max: fc.integer({ min: 40, max: 200 }),
});
const texts = fc.string({ unit: 'grapheme', maxLength: 600 });

describe('splitSelected', () => {
  it('returns pieces within the limit that cover the text and split no character', () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        let covered = 0;
        for (const { text: piece, from } of splitSelected(whole(text), limit)) {
          expect(from).toBeLessThanOrEqual(covered);
          expect(text.slice(from, from + piece.length)).toBe(piece);
          expect(lengthIn(limit, piece)).toBeLessThanOrEqual(limit.max);
          expect(piece.isWellFormed()).toBe(text.isWellFormed());
          covered = from + piece.length;
        }
        expect(covered).toBe(text.length);
      }),
    );
  });

  it('overlaps pieces, so that a short secret at a border is whole in one of them', () => {
    const limit = { unit: 'characters', max: 1_000 } as const;
    const text = 'x'.repeat(3_000);
    for (let at = 0; at < text.length - 40; at += 7) {
      const hidden = `${text.slice(0, at)}a secret of 40 characters without blanks.${text.slice(at)}`;
      const pieces = splitSelected(whole(hidden), limit);
      expect(pieces.some((piece) => piece.text.includes('a secret of 40 characters'))).toBe(true);
    }
  });
});

describe('batchTexts', () => {
  it('keeps all texts in order, within the limits of a request', () => {
    const limit = { unit: 'characters', max: 10, totalMax: 15 } as const;
    const batches = batchTexts(['12345', '1234567890', '1', '2', '3'].map(whole), limit, 2);
    expect(batches.map((batch) => batch.map(({ text }) => text))).toEqual([
      ['12345', '1234567890'],
      ['1', '2'],
      ['3'],
    ]);
  });
});

describe('changePassage', () => {
  const text = 'call +49 30 1234 or 😀 mail';
  const spans = (...list: (readonly [number, number])[]) => [
    { piece: whole(text), change: { spans: list.map(([from, to]) => ({ from, to, by: '*' })) } },
  ];

  it('replaces the spans and nothing else', () => {
    expect(changePassage(text, spans([5, 16]))).toBe('call * or 😀 mail');
    expect(changePassage(text, spans([0, 4], [5, 16]))).toBe('* * or 😀 mail');
  });

  it('replaces spans that overlap together', () => {
    expect(changePassage(text, spans([5, 12], [8, 16], [9, 10]))).toBe('call * or 😀 mail');
  });

  it.each([
    ['behind the text', [20, 99]],
    ['before the text', [-1, 3]],
    ['empty', [3, 3]],
    ['backwards', [9, 5]],
    ['a fraction', [0.5, 3]],
    ['half a character', [20, 21]],
  ] as const)('refuses a span that is %s', (_, span) => {
    expect(changePassage(text, spans(span))).toBeNull();
  });

  it('refuses a new text for a piece that overlaps another one', () => {
    const pieces = splitSelected(whole('word '.repeat(100)), { unit: 'characters', max: 200 });
    const changed = pieces.map((piece, at) => ({
      piece,
      change: at === 0 ? { text: 'changed' } : null,
    }));
    expect(changePassage('word '.repeat(100), changed)).toBeNull();
  });

  it('equals a replacement in the whole text, however it was split', () => {
    fc.assert(
      fc.property(texts, limits, fc.nat(600), fc.nat(30), (words, limit, at, length) => {
        const from = Math.min(at, words.length);
        const found = [...words.slice(from)].slice(0, length).join('');
        if (found === '' || !words.slice(0, from).isWellFormed() || !found.isWellFormed()) return;
        const changed = splitSelected(whole(words), limit).map((piece) => {
          const start = from - piece.from;
          const isInside = start >= 0 && start + found.length <= piece.text.length;
          const span = { from: start, to: start + found.length, by: '[X]' };
          return { piece, change: isInside ? { spans: [span] } : null };
        });
        const expected = `${words.slice(0, from)}[X]${words.slice(from + found.length)}`;
        const isFound = changed.some(({ change }) => change !== null);
        expect(changePassage(words, changed)).toBe(isFound ? expected : words);
      }),
    );
  });
});
