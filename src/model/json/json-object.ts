/**
 * Locates the members of a JSON object in its bytes, so that some can be replaced while the rest stays
 * byte for byte. Written by hand: JSON libraries reparse and reserialise the whole body, which costs
 * time on the request path and changes numbers and key order.
 */

import type { Slices } from '../../slices.ts';

/** A member of the outermost object, by offsets into its bytes. */
interface Member {
  /** At the opening quote of the key. */
  readonly start: number;
  readonly valueStart: number;
  /** Offset after the value. */
  readonly end: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** An escape of a letter, a digit or `_` after an even number of backslashes. */
const plainEscape = /(?<!\\)((?:\\\\)*)\\u00(3\d|4[1-9A-Fa-f]|5[\dAaFf]|6[1-9A-Fa-f]|7[\dAa])/g;

/**
 * Parses JSON and gets its keys right. V8 13.6 parses `"mode\u006c"` as `mode\` after it has read an
 * object with such a member at the same position. A caller could use that to hide a member from the
 * gateway that the provider reads.
 */
export function parseWithExactKeys(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const plain = unescapeLetters(text);
  return plain === text ? value : JSON.parse(plain);
}

/** Faster than `includes`, which stops at every backslash; code contains thousands of them. */
const anyPlainEscape = /\\u00[3-7]/;

/** Rewrites valid JSON so that letters that need no escape have none; the value is the same. */
export function unescapeLetters(text: string): string {
  // Most texts contain no `00`, which is a cheap test.
  if (!text.includes('00') || !anyPlainEscape.test(text)) return text;
  return text.replace(
    plainEscape,
    (_, before: string, hex: string) => before + String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/**
 * Returns the values of some members of an object, as text. The last of two members with one key
 * counts, as in `JSON.parse`.
 *
 * @throws TypeError when the bytes end before the object does.
 */
export function pickMembers(bytes: Buffer, names: readonly string[]): ReadonlyMap<string, string> {
  const text = bytes.toString('latin1');
  const values = new Map<string, string>();
  let at = skipBlank(text, text.indexOf('{') + 1);
  while (text.charCodeAt(at) !== closeBrace) {
    const start = at;
    const keyEnd = stringEnd(text, at);
    at = skipBlank(text, keyEnd);
    if (text.charCodeAt(at) !== colon) throw new TypeError('the bytes are not a JSON object');
    const valueStart = skipBlank(text, at + 1);
    const end = valueEnd(text, valueStart);
    const key = keyAmong(names, bytes, text, start, keyEnd);
    if (key !== null) values.set(key, bytes.toString('utf8', valueStart, end));
    at = skipBlank(text, end);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
  return values;
}

function keyAmong(
  names: readonly string[],
  bytes: Buffer,
  text: string,
  ...[start, end]: readonly [start: number, end: number]
): string | null {
  for (const name of names) {
    if (end - start === name.length + 2 && text.startsWith(name, start + 1)) return name;
  }
  if (!text.slice(start, end).includes('\\')) return null;
  const key = keyOf(bytes, text, start, end);
  return names.includes(key) ? key : null;
}

/**
 * Locates the members of an object that `JSON.parse` has accepted. Returns null when two members have
 * one key, because two readers could pick different ones.
 */
export function locateMembers(
  bytes: Buffer,
  // One character a byte: searching a string is faster, and all delimiters are ASCII.
  text = bytes.toString('latin1'),
): Map<string, Member> | null {
  const members = new Map<string, Member>();
  let at = text.indexOf('{') + 1;
  for (;;) {
    at = skipBlank(text, at);
    if (text.charCodeAt(at) === closeBrace) return members;
    if (text.charCodeAt(at) === comma) {
      at = skipBlank(text, at + 1);
    }
    const start = at;
    const keyEnd = stringEnd(text, at);
    const key = keyOf(bytes, text, start, keyEnd);
    at = skipBlank(text, keyEnd);
    if (text.charCodeAt(at) !== colon) throw new TypeError('the bytes are not a JSON object');
    const valueStart = skipBlank(text, at + 1);
    at = valueEnd(text, valueStart);
    if (members.has(key)) return null;
    members.set(key, { start, valueStart, end: at });
  }
}

/** Counts the members of an object that `JSON.parse` has accepted, duplicates included. */
export function countMembers(text: string): number {
  let at = skipBlank(text, text.indexOf('{') + 1);
  if (text.charCodeAt(at) === closeBrace) return 0;
  for (let members = 1; ; members += 1) {
    const colonAt = skipBlank(text, stringEnd(text, at));
    at = skipBlank(text, valueEnd(text, skipBlank(text, colonAt + 1)));
    if (text.charCodeAt(at) !== comma) return members;
    at = skipBlank(text, at + 1);
  }
}

/** Whether any object in JSON that `JSON.parse` has accepted has two members with one key. */
export function* findDuplicateKeys(bytes: Buffer): Slices<boolean> {
  const text = bytes.toString('latin1');
  let interruptAt = 0;
  /** Keys of the objects that are open; null for an array. */
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = stringEnd(text, at);
      const keys = isKey ? open.at(-1) : null;
      const key = keys == null ? '' : keyOf(bytes, text, at, end);
      if (keys?.has(key) === true) return true;
      keys?.add(key);
      at = end;
      continue;
    }
    if (at > interruptAt) {
      yield;
      interruptAt = at + interruptedBytes;
    }
    if (code === openBrace || code === openBracket)
      open.push(code === openBrace ? new Set() : null);
    if (code === closeBrace || code === closeBracket) open.pop();
    if (code === openBrace || code === comma) isKey = true;
    if (code === colon || code === openBracket) isKey = false;
    at += 1;
  }
  return false;
}

/** Bytes between two interruptions. */
const interruptedBytes = 128 * 1024;

/**
 * Returns the object's bytes with some members replaced or added. A member whose new value is
 * undefined is removed. All other members are copied unchanged.
 */
export function withMembers(
  bytes: Buffer,
  members: ReadonlyMap<string, Member>,
  changes: ReadonlyMap<string, unknown>,
): Buffer {
  const written = new Map<string, readonly Buffer[] | undefined>();
  for (const [key, value] of changes) {
    written.set(key, value === undefined ? undefined : [Buffer.from(JSON.stringify(value))]);
  }
  return Buffer.concat(piecesWith(bytes, members, written));
}

/** {@link withMembers} in pieces, for values that are JSON already. */
export function piecesWith(
  bytes: Buffer,
  members: ReadonlyMap<string, Member>,
  changes: ReadonlyMap<string, readonly Buffer[] | undefined>,
): readonly Buffer[] {
  const unchanged = [...members].filter(([key]) => !changes.has(key));
  const parts: Buffer[] = [Buffer.from('{')];
  const add = (part: Buffer): void => {
    if (parts.length > 1) parts.push(commaBytes);
    parts.push(part);
  };
  for (const [, { start, end }] of unchanged) add(bytes.subarray(start, end));
  for (const [key, value] of changes) {
    if (value === undefined) continue;
    add(Buffer.from(`${JSON.stringify(key)}:`));
    for (const piece of value) parts.push(piece);
  }
  parts.push(closeBytes);
  return parts;
}

const commaBytes = Buffer.from(',');
const closeBytes = Buffer.from('}');

const plainKey = /^[\w-]*$/;

function keyOf(bytes: Buffer, text: string, start: number, end: number): string {
  const plain = text.slice(start + 1, end - 1);
  if (plainKey.test(plain)) return plain;
  const raw = bytes.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function skipBlank(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** Returns the offset after the string that opens at `from`. It searches with `indexOf`, which is native code. */
export function stringEnd(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at >= 0) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
    at = text.indexOf('"', at + 1);
  }
  throw new TypeError('the bytes are not a JSON object');
}

/** Returns the offset after the value that begins at `from`. */
function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return stringEnd(text, from);
  if (first !== openBrace && first !== openBracket) return scalarEnd(text, from);
  let depth = 0;
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (Number.isNaN(code)) throw new TypeError('the bytes are not a JSON object');
    if (code === quote) {
      at = stringEnd(text, at);
      continue;
    }
    at += 1;
    if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
}

/** Returns the offset after a number, `true`, `false` or `null`. */
function scalarEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace || code <= 0x20) return at;
    at += 1;
  }
  return at;
}
