/** Parses JSON so that numbers keep their digits when it is written again. */
import { randomUUID } from 'node:crypto';
import { runAtOnce, type Slices } from '../../slices.ts';
import { parseWithExactKeys, stringEnd, unescapeLetters } from './json-object.ts';
import { isRawJSON, rawJSON } from './raw-json.ts';

/** Begins the text that stands for a number while JSON is parsed. It is random, so that no sender can write it. */
const mark = `${randomUUID()} `;
/** Characters, numbers or values between two interruptions. */
const interruptedChars = 128 * 1024;
const interruptedNumbers = 1_000;
const interruptedValues = 5_000;

const [quote, minus, plus, dot, upperE, lowerE] = [0x22, 0x2d, 0x2b, 0x2e, 0x45, 0x65];
const [zero, nine] = [0x30, 0x39];

interface NumberPlace {
  readonly start: number;
  readonly end: number;
}

/**
 * Numbers that JavaScript would write in another form become objects, which {@link digitsOf} and JSON.stringify
 * read. Keys are read as by `parseWithExactKeys`. A reviver would take twenty times as long.
 *
 * @throws SyntaxError
 */
export function* readExactJson(text: string): Slices<unknown> {
  // Valid JSON stays valid with marks and without escapes; invalid JSON might become valid.
  const value: unknown = JSON.parse(text);
  yield;
  const plain = unescapeLetters(text);
  const places = yield* findAlteredNumbers(plain);
  if (places.length === 0) return plain === text ? value : JSON.parse(plain);
  const marked = yield* markNumbers(plain, places);
  const root = [JSON.parse(marked)];
  yield;
  yield* replaceMarks(root);
  return root[0];
}

/** Most short texts have nothing that matches, and finding that takes less than the first step of a search. */
const otherForms = /\d[\d.]{15}|\d[eE]|\.\d*0(?!\d)|-0|0\.0{6}/;

/** {@link readExactJson} of a short text. @throws SyntaxError */
export function parseExactJson(text: string): unknown {
  return otherForms.test(text) ? runAtOnce(readExactJson(text)) : parseWithExactKeys(text);
}

/** The digits of a number that JavaScript would write in another form; null for any other value. */
export function digitsOf(value: unknown): string | null {
  return isRawJSON(value) ? JSON.stringify(value) : null;
}

/** The safe integer for which digits such as `1.0` stand; any other value as it is. */
export function withoutDigits(value: unknown): unknown {
  const number = Number(digitsOf(value) ?? Number.NaN);
  return Number.isSafeInteger(number) ? number : value;
}

function* findAlteredNumbers(text: string): Slices<NumberPlace[]> {
  const found: NumberPlace[] = [];
  let interruptAt = interruptedChars;
  for (let at = 0; at < text.length; ) {
    if (at > interruptAt || found.length % interruptedNumbers === interruptedNumbers - 1) {
      yield;
      interruptAt = at + interruptedChars;
    }
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at);
    else if (!isNumberStart(code)) at += 1;
    else {
      const end = numberEnd(text, at);
      const digits = text.slice(at, end);
      if (String(Number(digits)) !== digits) found.push({ start: at, end });
      at = end;
    }
  }
  return found;
}

/** A digit or `-`. */
function isNumberStart(code: number): boolean {
  return (code >= zero && code <= nine) || code === minus;
}

function numberEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isExponent = code === lowerE || code === upperE;
    if (!isExponent && !isNumberStart(code) && code !== dot && code !== plus) return at;
  }
  return text.length;
}

function* markNumbers(text: string, places: readonly NumberPlace[]): Slices<string> {
  const pieces: string[] = [];
  let from = 0;
  for (const [at, { start, end }] of places.entries()) {
    if (at % interruptedNumbers === interruptedNumbers - 1) yield;
    pieces.push(text.slice(from, start), `"${mark}${text.slice(start, end)}"`);
    from = end;
  }
  pieces.push(text.slice(from));
  yield;
  return pieces.join('');
}

/** Puts numbers in the places of their marks, in all lists and objects below. */
function* replaceMarks(root: unknown[]): Slices<void> {
  const waiting: object[] = [root];
  let count = 0;
  for (let owner = waiting.pop(); owner !== undefined; owner = waiting.pop()) {
    const values = owner as Record<string | number, unknown>;
    const names = Array.isArray(owner) ? null : Object.keys(owner);
    const length = names?.length ?? (owner as unknown[]).length;
    for (let at = 0; at < length; at += 1) {
      count += 1;
      if (count % interruptedValues === 0) yield;
      const step = names?.[at] ?? at;
      const value = values[step];
      if (typeof value === 'object' && value !== null) waiting.push(value);
      // Own members only: a member `__proto__` is replaced like any other.
      else if (typeof value === 'string' && value.startsWith(mark)) {
        values[step] = rawJSON(value.slice(mark.length));
      }
    }
  }
}
