/** Tests that the search for a pattern agrees with a matcher, which is slower. */
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { hasMatch } from '../../../src/guardrails/search.ts';

const patterns = [
  '\\b\\d{4}[ -]?\\d{4}[ -]?\\d{4}[ -]?\\d{4}\\b',
  'AKIA[0-9A-Z]{16}',
  '^begin|end$',
  '(?m)^line$',
  '(?i)straße|K',
  '\\Bcat\\B',
  '(a|ab)(c|bcd)(d*)$',
  '(?s)one.*two',
  '[^\\x00-\\x7f]+\\.',
  '(?i)[^z]{1,900}#',
  '(x+x+)+y',
];
const texts = [
  '',
  'card 4111 1111-1111 1111.',
  'card 41111111111111112',
  'key AKIA0123456789ABCDEF',
  'begin here',
  'the end\n',
  'first\nline\nlast',
  'STRASSE Straße \u212a',
  'concatenate cat',
  'abcd',
  'one\ntwo',
  'ünïcödé😀.',
  'ab'.repeat(900),
  `${'ab'.repeat(900)}#`,
];

describe('the search for a pattern', () => {
  it.each(patterns)('finds %s in the texts in which a matcher finds it', (pattern) => {
    const matcher = RE2JS.compile(RE2JS.translateRegExp(pattern));
    const expected = texts.map((text) => matcher.matcher(text).find());
    // The second round uses the states that the first one has built.
    for (const round of [1, 2]) {
      const found = texts.map((text) => hasMatch(pattern, '', text));
      expect([round, ...found]).toEqual([round, ...expected]);
    }
  });
});
