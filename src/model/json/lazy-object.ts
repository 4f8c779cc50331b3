/** Parses a large JSON object lazily, for readers that need only a few of its members. */
import { isAscii } from 'node:buffer';
import { locateMembers, unescapeLetters } from './json-object.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type Range = readonly [start: number, end: number];

/** Reads the proxied target, which {@link peekMember} looks at. */
const targetSymbol = Symbol('target');

/**
 * Parses a member when it is first read. A proxy rather than accessors: an object with accessors gets
 * a hidden class of its own, which lives much longer than the object.
 */
class LazyMembers implements ProxyHandler<Record<string, unknown>> {
  readonly #bytes: Buffer;
  readonly #unread: Map<string, Range>;

  constructor(bytes: Buffer, unread: Map<string, Range>) {
    this.#bytes = bytes;
    this.#unread = unread;
  }

  get(target: Record<string, unknown>, name: string | symbol): unknown {
    if (name === targetSymbol) return target;
    this.#settle(target, name);
    return Reflect.get(target, name);
  }

  getOwnPropertyDescriptor(
    target: Record<string, unknown>,
    name: string | symbol,
  ): PropertyDescriptor | undefined {
    this.#settle(target, name);
    return Reflect.getOwnPropertyDescriptor(target, name);
  }

  /** Assignments arrive here as well. */
  defineProperty(
    target: Record<string, unknown>,
    name: string | symbol,
    property: PropertyDescriptor,
  ): boolean {
    this.#settle(target, name);
    return Reflect.defineProperty(target, name, property);
  }

  deleteProperty(target: Record<string, unknown>, name: string | symbol): boolean {
    this.#settle(target, name);
    return Reflect.deleteProperty(target, name);
  }

  #settle(target: Record<string, unknown>, name: string | symbol): void {
    if (typeof name === 'string' && this.#unread.has(name)) this.#parse(target, name);
  }

  #parse(target: Record<string, unknown>, name: string): void {
    const value: unknown = JSON.parse(this.#bytes.toString('utf8', ...this.#unread.get(name)!));
    this.#unread.delete(name);
    const plain = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(target, name, { ...plain, value });
  }
}

/**
 * Parses the bytes, which must be valid UTF-8, as a JSON object. Decoding non-ASCII text takes a large
 * part of the parsing time, so members that contain any are parsed when they are first read.
 *
 * Returns null when the bytes cannot be read this way: they are no JSON object, have more than
 * `membersMax` members, a duplicate key, a non-ASCII key, or an escape of a plain letter.
 */
export function parseLazily(bytes: Buffer, membersMax: number): JsonObject | null {
  const letters = bytes.toString('latin1');
  // Offsets into a rewritten text would not match the bytes.
  const value = unescapeLetters(letters) === letters ? objectIn(letters) : null;
  if (value === null || Object.keys(value).length > membersMax) return null;
  const members = locateMembers(bytes, letters);
  if (members === null) return null;
  const unread = new Map<string, Range>();
  for (const [name, { start, valueStart, end }] of members) {
    if (isAscii(bytes.subarray(start, end))) continue;
    // A key that is missing from the parsed value was misread by V8: see parseWithExactKeys.
    if (!isAscii(bytes.subarray(start, valueStart)) || !Object.hasOwn(value, name)) return null;
    unread.set(name, [valueStart, end]);
  }
  return new Proxy(value, new LazyMembers(bytes, unread));
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/**
 * Reads a member without parsing it, for checks of types and lengths. In a member that has not been
 * parsed, non-ASCII texts are wrong: each of their bytes is one Latin-1 character. Non-ASCII keys are
 * wrong as well, and two can collide (`"é"` and `"\u00c3\u00a9"`); if there are any, read the member.
 */
export function peekMember(object: JsonObject, name: string): unknown {
  return targetOf(object)[name];
}

/** The names of the members, without parsing any. */
export function memberNames(object: JsonObject): readonly string[] {
  return Object.keys(targetOf(object));
}

function targetOf(object: JsonObject): JsonObject {
  return (object as { readonly [targetSymbol]?: JsonObject })[targetSymbol] ?? object;
}
