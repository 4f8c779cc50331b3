/** Checks that the cost of a pattern is known before it is compiled, and is never too low. */
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it, vi } from 'vitest';
import { guardrailFaults } from '../../../src/model/guardrails/guardrail-checks.ts';
import { PatternChecker } from '../../../src/model/patterns/pattern-checker.ts';
import { patternCost } from '../../../src/model/patterns/pattern-cost.ts';

const distinct = (count: number, suffix: string): string =>
  Array.from({ length: count }, (_, at) => String.fromCharCode(0x4e00 + at) + suffix).join('');

describe('the cost of a pattern', () => {
  it('is never below the size of the program that the engine compiles', () => {
    fc.assert(
      fc.property(patterns, (pattern) => {
        const cost = patternCost(pattern);
        fc.pre(cost < 10_000);
        expect(cost).toBeGreaterThanOrEqual(programSize(pattern));
      }),
      { numRuns: 500, examples: [['(|a|){1,30}?']] },
    );
  });

  it.each([
    ['repetitions of any character', '.{1000}'.repeat(140)],
    ['nested repetitions', '(?:(?:(?:a{10}){10}){10})'.repeat(40)],
    ['wide ranges in any case', `(?i)[${'A-\uffff'.repeat(300)}]`],
    ['ranges in any case whose ends are escapes', `(?i)[${'\\x{41}-\\n'.repeat(80)}]`],
    ['many optional characters after an anchor', `^${distinct(490, '?')}$`],
    ['many starred characters after an anchor', `^${distinct(490, '*')}$`],
    ['the same, behind repetitions of nothing', `^(?:){1000}${distinct(490, '?')}$`],
    ['alternatives in a loop after an anchor', `^(?:${distinct(250, 'a|')}z)*$`],
    ['Unicode classes', '\\pL'.repeat(340)],
    ['Unicode classes within brackets', `[${'\\pL\\pN'.repeat(170)}]`],
    ['alternatives of Unicode classes', `a|${'\\pL|\\pN|'.repeat(120)}`],
    ['Unicode classes repeated after an anchor', '^\\pL{900}$'],
    ['a large class repeated after an anchor', `^[${distinct(990, '')}]{990}$`],
  ])('exceeds the limit of one pattern for %s', (_, pattern) => {
    expect(patternCost(pattern)).toBeGreaterThan(5000);
  });

  it.each([
    '^[a-zA-Z0-9._%+-]{1,64}@[a-zA-Z0-9.-]{1,253}\\.[a-zA-Z]{2,63}$',
    '(?i)^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$',
    '\\b(?:\\d[ -]*?){13,19}\\b',
    '^(?:\\+?\\d{1,3}[-. ]?)?\\(?\\d{3}\\)?[-. ]?\\d{3}[-. ]?\\d{4}$',
    '(?i)\\b(?:password|secret|token)\\b\\s*[:=]\\s*\\S+',
    '^.{0,1000}$',
    '[\\s\\S]{0,1000}',
    `^(?:${Array.from({ length: 100 }, (_, at) => `word${at}`).join('|')})$`,
    '[\\p{L}\\p{N}_]{3,50}',
    '^\\p{Lu}\\p{L}{1,40}$',
    'a'.repeat(1024),
  ])('stays within the limit for %s', (pattern) => {
    expect(patternCost(pattern)).toBeLessThanOrEqual(5000);
    expect(new PatternChecker().regexFault(pattern)).toBeNull();
  });

  it.each([
    '(',
    ')',
    '[',
    '[^',
    '\\',
    '{',
    '*',
    '(?',
    '(?P<',
    '\\p{',
    '\\Q',
    '(?i',
    'a{1,2',
    '[a-',
    '[[:',
  ])('is a number for %s, which is not a pattern', (pattern) => {
    expect(patternCost(pattern)).toBeGreaterThan(0);
  });
});

describe('the patterns of one document', () => {
  it('skips all patterns that cost too much, even a hundred of them', () => {
    const compile = vi.spyOn(RE2JS, 'compile');
    const checks = Array.from({ length: 100 }, (_, at) => ({
      id: 'default.regexMatch',
      parameters: { rule: '.{1000}'.repeat(140) + at },
    }));
    const faults = guardrailFaults({ checks, actions: {} }, 'llm', []);
    expect(faults).toHaveLength(100);
    expect(faults.at(-1)!.message).toMatch(/^exceeds the \d+ steps that compiling all patterns/);
    expect(faults[0]!.message).toMatch(/^needs \d+ steps to compile, more than the 5000 allowed/);
    expect(compile).not.toHaveBeenCalled();
    compile.mockRestore();
  });

  it('compiles patterns until their total cost is too high, and none after that', () => {
    const compile = vi.spyOn(RE2JS, 'compile');
    const judge = new PatternChecker();
    const faults = Array.from({ length: 8100 }, (_, at) => judge.regexFault(`^user-${at}$`));
    const compiled = faults.indexOf(faults.find((fault) => fault !== null)!);
    expect(compiled).toBeGreaterThan(300);
    expect(compiled).toBeLessThan(750);
    expect(faults.slice(compiled).every((fault) => fault?.startsWith('exceeds the '))).toBe(true);
    expect(compile).toHaveBeenCalledTimes(compiled);
    compile.mockRestore();
  });

  it('compiles each pattern once however often it repeats', () => {
    const compile = vi.spyOn(RE2JS, 'compile');
    const judge = new PatternChecker();
    for (let at = 0; at < 9000; at += 1) expect(judge.regexFault('^a{1,100}$')).toBeNull();
    expect(compile).toHaveBeenCalledTimes(1);
    compile.mockRestore();
  });
});

/** Zero for a pattern that the engine rejects. */
function programSize(pattern: string): number {
  try {
    return RE2JS.compile(pattern).programSize();
  } catch {
    return 0;
  }
}

const atoms = fc.constantFrom(
  'a',
  '.',
  '\\d',
  '\\pL',
  '[\\pL\\pN]',
  '[^\\p{Greek}x]',
  '[a-z]',
  '[A-\u0fff]',
  '(?i)',
  '(?s-i)',
  '\\b',
  '^',
  '$',
  '\\A',
  '\\z',
  '\\x{41}',
  '\\x41',
  '\\Qa(b]\\E',
  '\\Q',
  '[]a\\]b-d[:alpha:]]',
  '[^]]',
  '[[:^digit:]a]',
  '[a-\\x{10ffff}]',
  '\\(',
  '\\[',
  '\\{',
  '{',
  '}',
  ']',
  '{2',
  '{,3}',
  '\u{1f600}',
  '\\12',
);
const quantifiers = fc.constantFrom(
  '',
  '',
  '',
  '?',
  '*',
  '+',
  '{3}',
  '{2,}',
  '{0,7}',
  '{5,9}',
  '{0}',
  '??',
  '*?',
  '{40}',
  '{1,30}?',
);
const groups = fc.constantFrom('(', '(?:', '(?i:', '(?i-s:', '(?P<n>');
const { pattern: patterns } = fc.letrec<{ pattern: string; item: string; group: string }>(
  (tie) => ({
    pattern: fc
      .array(fc.array(tie('item'), { maxLength: 6 }), { minLength: 1, maxLength: 3 })
      .map((alternatives) => alternatives.map((items) => items.join('')).join('|')),
    item: fc
      .tuple(fc.oneof({ depthSize: 'small' }, atoms, tie('group')), quantifiers)
      .map(([atom, quantifier]) => atom + quantifier),
    group: fc.tuple(groups, tie('pattern')).map(([start, inner]) => `${start}${inner})`),
  }),
);
