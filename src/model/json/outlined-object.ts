/** Knows how a large JSON object is read of which most that is said in it is asked for by nobody. */
import { isAscii } from 'node:buffer';
import { membersOf, withPlainNames } from './json-object.ts';

type Json = Readonly<Record<string, unknown>>;
type Range = readonly [start: number, end: number];

/** Asks an object that was read here for what {@link outlineOf} tells. */
const outlineName = Symbol('outline');

/**
 * Reads members when they are first asked for. In place of an accessor, with which each object has a hidden
 * class of its own that outlives it by far.
 */
class ReadsLater implements ProxyHandler<Record<string, unknown>> {
  readonly #bytes: Buffer;
  readonly #unread: Map<string, Range>;

  constructor(bytes: Buffer, unread: Map<string, Range>) {
    this.#bytes = bytes;
    this.#unread = unread;
  }

  get(target: Record<string, unknown>, name: string | symbol): unknown {
    if (name === outlineName) return target;
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

  /** What is set comes here, too. */
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
    if (typeof name === 'string' && this.#unread.has(name)) this.#read(target, name);
  }

  #read(target: Record<string, unknown>, name: string): void {
    const value: unknown = JSON.parse(this.#bytes.toString('utf8', ...this.#unread.get(name)!));
    this.#unread.delete(name);
    const plain = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(target, name, { ...plain, value });
  }
}

/**
 * What the bytes say, which are valid UTF-8. To make text of what is beyond ASCII takes a large part of the
 * time of reading, so that members that hold any are read when they are first asked for. Null for what is not
 * read in this way: no JSON, no object, one with more members, with a key twice, one
 * beyond ASCII, or a plain letter as an escape.
 */
export function outlinedObject(bytes: Buffer, membersMax: number): Json | null {
  const letters = bytes.toString('latin1');
  // Places in a text that was changed would be wrong.
  const value = withPlainNames(letters) === letters ? objectIn(letters) : null;
  if (value === null || Object.keys(value).length > membersMax) return null;
  const members = membersOf(bytes, letters);
  if (members === null) return null;
  const unread = new Map<string, Range>();
  for (const [name, { start, valueStart, end }] of members) {
    if (isAscii(bytes.subarray(start, end))) continue;
    // As V8 has misread it: see parseNames.
    if (!isAscii(bytes.subarray(start, valueStart)) || !Object.hasOwn(value, name)) return null;
    unread.set(name, [valueStart, end]);
  }
  return new Proxy(value, new ReadsLater(bytes, unread));
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
 * A member for those who look at kinds and lengths of what is there. Of one that nobody has asked for, texts
 * beyond ASCII are wrong: they have a letter of Latin-1 for each of their bytes. So are names beyond ASCII, of
 * which two may have become one (`"é"` and `"\u00c3\u00a9"`): where there is any, ask for the member.
 */
export function outlineOf(object: Json, name: string): unknown {
  return whatIsReadOf(object)[name];
}

/** The names of its members, for which none is read. */
export function namesOf(object: Json): readonly string[] {
  return Object.keys(whatIsReadOf(object));
}

function whatIsReadOf(object: Json): Json {
  return (object as { readonly [outlineName]?: Json })[outlineName] ?? object;
}
