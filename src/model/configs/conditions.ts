/** Knows whether a request meets the query of a condition. */
import { RE2JS } from 're2js';

/** What queries speak of: `metadata.team`, `params.model`, `url.pathname`. */
export interface Subject {
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
 * Every part of a query must hold. A key that the request does not have makes its part false, save
 * where nothing but the absence of a value is asked for (`$ne`, `$nin`).
 */
export function holds(query: unknown, subject: Subject): boolean {
  if (typeof query !== 'object' || query === null) return false;
  return Object.entries(query).every(([key, expected]) => {
    if (key === '$and') return isList(expected) && expected.every((part) => holds(part, subject));
    if (key === '$or') return isList(expected) && expected.some((part) => holds(part, subject));
    return meets(valueAt(key, subject), expected);
  });
}

function meets(value: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return value === expected;
  return Object.entries(expected).every(([operator, operand]) => {
    const test = tests[operator];
    if (test === undefined) return false;
    const isAbsence = operator === '$ne' || operator === '$nin';
    return (value !== undefined || isAbsence) && test(value, operand);
  });
}

/** Of exactly two parts; what is no text, number, word or null counts as absent. */
function valueAt(key: string, subject: Subject): unknown {
  const dot = key.indexOf('.');
  const place = key.slice(0, dot);
  const name = key.slice(dot + 1);
  if (place !== 'metadata' && place !== 'params' && place !== 'url') return undefined;
  const holder = subject[place] as Readonly<Record<string, unknown>>;
  const value = Object.hasOwn(holder, name) ? holder[name] : undefined;
  return typeof value === 'object' && value !== null ? undefined : value;
}

/**
 * Below, at or above nought; null for two values of which neither comes first. Values of metadata are
 * texts, so that one that is a number is compared as such; dates and versions are by their letters.
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

/** Compiled once: config-document.ts has found that it can be, at a bounded cost. */
function patternOf(rule: unknown): { test(text: string): boolean } {
  const text = String(rule);
  const known = patterns.get(text);
  if (known !== undefined) return { test: (value) => known.matcher(value).find() };
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(text));
    if (patterns.size === patternsMax) patterns.delete(patterns.keys().next().value!);
    patterns.set(text, compiled);
    return { test: (value) => compiled.matcher(value).find() };
  } catch {
    return { test: () => false };
  }
}
