/** Measures JSON in its bytes before it is parsed, in slices, so that no body holds the event loop. */

export interface JsonBounds {
  /** Texts, numbers, lists, maps and literals at any depth. */
  readonly valuesMax: number;
  readonly depthMax: number;
}

/** Escapes in all texts. Code has one in thirty characters; parsing takes about 30 ns for each. */
const escapesMax = 1_000_000;
/** Escapes of letters and digits, which no encoder writes and which parsing twice removes. */
const plainEscapesMax = 10_000;
/** Shorter bodies cannot have so many keys. */
const manyKeysBytesMin = 64 * 1024;
/** Different keys, estimated. Each costs the parser about a microsecond, repeated ones a tenth. */
const keysMax = 20_000;
/** Bytes of all keys, which parsers hash, and of blanks between values, which every later pass skips. */
const keyBytesMax = 8 * 1024 * 1024;
const blanksMax = 8 * 1024 * 1024;
/** Bytes that one step looks at, unless they are within one text without escapes. */
const stepBytes = 512 * 1024;
const keySlots = 1 << 18;

const [quote, backslash, comma, colon, lowerU, zero] = [0x22, 0x5c, 0x2c, 0x3a, 0x75, 0x30];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Seeds the estimate of different keys, so that nobody can choose keys that collide. */
const seed = Math.floor(Math.random() * 0x7fffffff);

/** Estimates the number of different keys; never above the real one. */
class KeyEstimate {
  readonly #slots = new Uint8Array(keySlots / 8);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(bytes: Buffer, start: number, end: number): void {
    let hash = seed ^ (end - start);
    for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    hash ^= hash >>> 15;
    const slot = hash & (keySlots - 1);
    const bit = 1 << (slot & 7);
    if ((this.#slots[slot >> 3]! & bit) !== 0) return;
    this.#slots[slot >> 3]! |= bit;
    this.#count += 1;
  }
}

/**
 * One linear pass. It does not validate: `JSON.parse` does that for what is within the bounds, and takes less
 * than 50 ms for it.
 */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #bounds: JsonBounds;
  readonly #keys: KeyEstimate | null;
  #at = 0;
  #depth = 0;
  #values = 0;
  #escapes = 0;
  #plainEscapes = 0;
  #members = 0;
  #keyBytes = 0;
  #blanks = 0;
  /** Offsets of the next ones from here on; -1 for none. */
  #nextBackslash = -2;
  #nextQuote = -2;
  #isInText = false;
  /** Offsets of the last text, which a colon makes a key. */
  #textStart = 0;
  #textEnd = 0;

  constructor(bytes: Buffer, bounds: JsonBounds) {
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#keys = bytes.length > manyKeysBytesMin ? new KeyEstimate() : null;
  }

  /** Members of the outermost object, duplicates included. */
  get members(): number {
    return this.#members;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Scans the next part; returns why the body is refused, or null. */
  step(): string | null {
    const bytes = this.#bytes;
    const end = Math.min(this.#at + stepBytes, bytes.length);
    while (this.#at < end) {
      if (this.#isInText) this.#text(end);
      else this.#token(bytes[this.#at]!);
      const fault = this.#fault();
      if (fault !== null) return fault;
    }
    return null;
  }

  #token(code: number): void {
    if (code === quote) {
      this.#textStart = this.#at + 1;
      this.#isInText = true;
      this.#values += 1;
    } else if (code === openBrace || code === openBracket) {
      this.#values += 1;
      this.#depth += 1;
    } else if (code === closeBrace || code === closeBracket) this.#depth -= 1;
    else if (code === colon) this.#key();
    else if (code > 0x20 && code !== comma) {
      this.#values += 1;
      this.#skipScalar();
      return;
    } else if (code <= 0x20) this.#blanks += 1;
    this.#at += 1;
  }

  /** The last text is a key and no value. */
  #key(): void {
    this.#values -= 1;
    this.#keyBytes += this.#textEnd - this.#textStart;
    if (this.#depth === 1) this.#members += 1;
    this.#keys?.add(this.#bytes, this.#textStart, this.#textEnd);
  }

  #skipScalar(): void {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    for (; at < bytes.length; at += 1) {
      const code = bytes[at]!;
      if (code <= 0x20 || code === comma || code === closeBrace || code === closeBracket) break;
      if (code === quote || code === colon || code === openBrace || code === openBracket) break;
    }
    this.#at = at;
  }

  /** Reads a text up to its end or to `end`. Searches natively while there is no escape. */
  #text(end: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < end) {
      if (this.#nextBackslash !== -1 && this.#nextBackslash < at) {
        this.#nextBackslash = bytes.indexOf(backslash, at);
      }
      const escapeAt = this.#nextBackslash;
      const code = bytes[at]!;
      if (code === quote) {
        this.#endText(at);
        return;
      }
      if (code === backslash) at = this.#escape(at);
      else if (escapeAt !== -1 && escapeAt - at < 32) at += 1;
      else {
        if (this.#nextQuote !== -1 && this.#nextQuote < at) {
          this.#nextQuote = bytes.indexOf(quote, at);
        }
        const close = this.#nextQuote;
        if (close === -1) {
          this.#at = bytes.length;
          return;
        }
        if (escapeAt === -1 || close < escapeAt) {
          this.#endText(close);
          return;
        }
        at = escapeAt;
      }
    }
    this.#at = at;
  }

  #endText(at: number): void {
    this.#textEnd = at;
    this.#isInText = false;
    this.#at = at + 1;
  }

  #escape(at: number): number {
    this.#escapes += 1;
    if (isPlainEscape(this.#bytes, at)) this.#plainEscapes += 1;
    return at + 2;
  }

  #fault(): string | null {
    const { valuesMax, depthMax } = this.#bounds;
    if (this.#depth > depthMax) return `is nested deeper than ${depthMax} levels`;
    if (this.#values > valuesMax + 1) return `has more than ${valuesMax} values`;
    if ((this.#keys?.count ?? 0) > keysMax) return `has more than ${keysMax} different keys`;
    if (this.#keyBytes > keyBytesMax) return `has more than ${keyBytesMax} bytes of keys`;
    if (this.#blanks > blanksMax) return `has more than ${blanksMax} blanks between its values`;
    if (this.#escapes > escapesMax) return `has more than ${escapesMax} escapes`;
    if (this.#plainEscapes > plainEscapesMax) {
      return `has more than ${plainEscapesMax} escapes of letters and digits`;
    }
    return null;
  }
}

/** Whether the escape at this offset is one of a letter or a digit. */
function isPlainEscape(bytes: Buffer, at: number): boolean {
  return (
    bytes[at + 1] === lowerU &&
    bytes[at + 2] === zero &&
    bytes[at + 3] === zero &&
    bytes[at + 4]! >= 0x33 &&
    bytes[at + 4]! <= 0x37
  );
}

/** Whether the bytes open more than `opensMax` lists and maps; without, nothing is nested deeper either. */
export function opensMoreThan(bytes: Buffer, opensMax: number): boolean {
  let opens = 0;
  for (const code of [openBrace, openBracket]) {
    for (let at = bytes.indexOf(code); at !== -1; at = bytes.indexOf(code, at + 1)) {
      opens += 1;
      if (opens > opensMax) return true;
    }
  }
  return false;
}
