/** Searches a text for patterns, in linear time, and for JSON. */
import { RE2JS } from 're2js';
import { jsonIn } from './json-in-text.ts';

/** Maximum number of cached compiled patterns. */
const patternsMax = 500;
/** Memory for the states of one pattern; when they need more, the pattern is searched without them. */
const stateBytesMax = 256 * 1024;
const compiled = new Map<string, RE2JS>();

/** `flags` are the flags of an inline group: `i`, `ms`. */
export function hasMatch(pattern: string, flags: string, text: string): boolean {
  // Costs a fraction of a matcher, which also finds the place of the match.
  return patternOf(pattern, flags).test(text);
}

/** Replaces all matches; the replacement is literal, without references to groups. */
export function replaceMatches(pattern: string, flags: string, text: string, by: string): string {
  return patternOf(pattern, flags).matcher(text).replaceAll(by.replaceAll('$', '$$$$'));
}

/** The ranges of all matches; null when a match is empty, so that its place is ambiguous. */
export function matchRanges(pattern: string, flags: string, text: string): MatchRange[] | null {
  const matcher = patternOf(pattern, flags).matcher(text);
  const ranges: MatchRange[] = [];
  while (matcher.find()) {
    const [start, end] = [matcher.start(), matcher.end()];
    if (start === end) return null;
    ranges.push({ start, end });
  }
  return ranges;
}

/** Offsets of characters. */
export interface MatchRange {
  readonly start: number;
  readonly end: number;
}

/** For each JSON object in the text, which of the keys it has. */
export function keysIn(text: string, keys: readonly string[]): boolean[][] {
  return jsonIn(text)
    .filter((value): value is object => typeof value === 'object' && value !== null)
    .map((value) => keys.map((key) => Object.hasOwn(value, key)));
}

function patternOf(pattern: string, flags: string): RE2JS {
  const whole = flags === '' ? pattern : `(?${flags})${pattern}`;
  const cached = compiled.get(whole);
  if (cached !== undefined) return cached;
  const regex = RE2JS.compile(RE2JS.translateRegExp(whole));
  const states = regex.re2().dfa;
  states.stateBudget = stateBytesMax;
  states.memBudget = stateBytesMax;
  if (compiled.size === patternsMax) compiled.delete(compiled.keys().next().value!);
  compiled.set(whole, regex);
  return regex;
}
