/** Knows how a text is searched: by patterns that cannot run away, and for JSON. */
import { RE2JS } from 're2js';
import { jsonIn } from './json-in-text.ts';

/** Patterns that are kept compiled. */
const patternsMax = 500;
const compiled = new Map<string, RE2JS>();

/** `flags` are those of a group in front: `i`, `ms`. */
export function isFound(pattern: string, flags: string, text: string): boolean {
  return patternOf(pattern, flags).matcher(text).find();
}

/** The replacement stands as it is, without references to groups. */
export function replaced(pattern: string, flags: string, text: string, by: string): string {
  return patternOf(pattern, flags).matcher(text).replaceAll(by.replaceAll('$', '$$$$'));
}

/** For each JSON object in the text, which of the keys it has. */
export function keysIn(text: string, keys: readonly string[]): boolean[][] {
  return jsonIn(text)
    .filter((value): value is object => typeof value === 'object' && value !== null)
    .map((value) => keys.map((key) => Object.hasOwn(value, key)));
}

function patternOf(pattern: string, flags: string): RE2JS {
  const whole = flags === '' ? pattern : `(?${flags})${pattern}`;
  const known = compiled.get(whole);
  if (known !== undefined) return known;
  const made = RE2JS.compile(RE2JS.translateRegExp(whole));
  if (compiled.size === patternsMax) compiled.delete(compiled.keys().next().value!);
  compiled.set(whole, made);
  return made;
}
