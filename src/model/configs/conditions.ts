/** Evaluates the query of a condition against a request. */
import { RE2JS } from 're2js';

/** The values that queries refer to: `metadata.team`, `params.model`, `url.pathname`. */
export interface ConditionSubject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly url: { readonly pathname: string };
}

type Test = (value: unknown, expected: unknown) => boolean;

const tests: Readonly<Record<string, Test>> = {
  $eq: (value, expected) => value === expected,
  $ne: (value, expected) => value !== expected,
  $gt: (value, expected) => (order(value, expected) ?? 0) > 0,
  $gte: (value, expected) => (order(value, expected) ?? -1) >= 0,
  $lt: (value, expected) => (order(value, expected) ?? 0) < 0,
  $lte: (value, expected) => (order(value, expected) ?? 1) <= 0,
  $in: (value, expected) => Array.isArray(expected) && expected.includes(value),
  $nin: (value, expected) => Array.isArray(expected) && !expected.includes(value),
  $regex: (value, expected) => value !== null && patternOf(expected).test(String(value)),
};

/**
 * Whether every part of a query matches. A part whose key is missing from the request does not match,
 * except for the negated operators `$ne` and `$nin`.
 */
export function matchesQuery(query: unknown, subject: ConditionSubject): boolean {
  if (typeof query !== 'object' || query === null) return false;
  return Object.entries(query).every(([key, expected]) => {
    if (key === '$and')
      return isList(expected) && expected.every((part) => matchesQuery(part, subject));
    if (key === '$or')
      return isList(expected) && expected.some((part) => matchesQuery(part, subject));
    return matchesValue(valueAt(key, subject), expected);
  });
}

function matchesValue(value: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return value === expected;
  return Object.entries(expected).every(([operator, operand]) => {
    const test = tests[operator];
    if (test === undefined) return false;
    const isAbsence = operator === '$ne' || operator === '$nin';
    return (value !== undefined || isAbsence) && test(value, operand);
  });
}

/** Reads a key of exactly two parts. A value that is an object or a list counts as absent. */
function valueAt(key: string, subject: ConditionSubject): unknown {
  const dot = key.indexOf('.');
  const source = key.slice(0, dot);
  const name = key.slice(dot + 1);
  if (source !== 'metadata' && source !== 'params' && source !== 'url') return undefined;
  const holder = subject[source] as Readonly<Record<string, unknown>>;
  const value = Object.hasOwn(holder, name) ? holder[name] : undefined;
  return typeof value === 'object' && value !== null ? undefined : value;
}

/**
 * Negative, zero or positive; null for values that cannot be ordered. Numbers in metadata are strings,
 * so strings that are decimals compare as numbers. Dates and versions compare as text.
 */
function order(value: unknown, expected: unknown): number | null {
  const [left, right] = [numberOf(value), numberOf(expected)];
  if (left !== null && right !== null) return left - right;
  if (typeof value !== 'string' || typeof expected !== 'string') return null;
  return value < expected ? -1 : Number(value > expected);
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && decimal.test(value) ? Number(value) : null;
}

const decimal = /^-?\d{1,15}(?:\.\d{1,15})?$/;

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

const patternsMax = 1_000;
const patterns = new Map<string, RE2JS>();

/** Returns a compiled pattern from the cache; config-document.ts has checked the cost of compiling it. */
function patternOf(rule: unknown): { test(text: string): boolean } {
  const text = String(rule);
  const cached = patterns.get(text);
  if (cached !== undefined) return { test: (value) => cached.matcher(value).find() };
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(text));
    if (patterns.size === patternsMax) patterns.delete(patterns.keys().next().value!);
    patterns.set(text, compiled);
    return { test: (value) => compiled.matcher(value).find() };
  } catch {
    return { test: () => false };
  }
}
