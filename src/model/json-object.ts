/** Knows where the members of a JSON object stand in its bytes, so that some are changed and the rest stays as it came. */

/** A member of the outermost object, by offsets into its bytes. */
interface Member {
  /** At the opening quote of the key. */
  readonly start: number;
  readonly valueStart: number;
  /** Behind the value. */
  readonly end: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The members of an object that `JSON.parse` has read, so that its form is known to be right; null
 * where two have one key, of which two readers could each take another.
 */
export function membersOf(bytes: Buffer): Map<string, Member> | null {
  const members = new Map<string, Member>();
  let at = bytes.indexOf(openBrace) + 1;
  for (;;) {
    at = skipBlank(bytes, at);
    if (bytes[at] === closeBrace) return members;
    if (bytes[at] === comma) {
      at = skipBlank(bytes, at + 1);
    }
    const start = at;
    const keyEnd = stringEnd(bytes, at);
    const key = keyOf(bytes, start, keyEnd);
    at = skipBlank(bytes, keyEnd);
    if (bytes[at] !== colon) throw new TypeError('the bytes hold no object');
    const valueStart = skipBlank(bytes, at + 1);
    at = valueEnd(bytes, valueStart);
    if (members.has(key)) return null;
    members.set(key, { start, valueStart, end: at });
  }
}

/**
 * The bytes of the object with some members replaced, added or, where the value is undefined, left
 * out. All others are copied as they are.
 */
export function withMembers(
  bytes: Buffer,
  members: ReadonlyMap<string, Member>,
  changes: ReadonlyMap<string, unknown>,
): Buffer {
  const kept = [...members].filter(([key]) => !changes.has(key));
  const parts: Buffer[] = [Buffer.from('{')];
  const add = (part: Buffer): void => {
    if (parts.length > 1) parts.push(commaBytes);
    parts.push(part);
  };
  for (const [, { start, end }] of kept) add(bytes.subarray(start, end));
  for (const [key, value] of changes) {
    if (value === undefined) continue;
    add(Buffer.from(`${JSON.stringify(key)}:${JSON.stringify(value)}`));
  }
  parts.push(closeBytes);
  return Buffer.concat(parts);
}

const commaBytes = Buffer.from(',');
const closeBytes = Buffer.from('}');

function keyOf(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function skipBlank(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) {
    at += 1;
  }
  return at;
}

/** Behind the string whose opening quote is at `from`. The search for its end is the runtime's own. */
function stringEnd(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(quote, from + 1);
  while (at >= 0) {
    let escapes = 0;
    while (bytes[at - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
    at = bytes.indexOf(quote, at + 1);
  }
  throw new TypeError('the bytes hold no object');
}

/** Behind the value that begins at `from`. */
function valueEnd(bytes: Buffer, from: number): number {
  const first = bytes[from];
  if (first === quote) return stringEnd(bytes, from);
  if (first !== openBrace && first !== openBracket) return scalarEnd(bytes, from);
  let depth = 0;
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined) throw new TypeError('the bytes hold no object');
    if (byte === quote) {
      at = stringEnd(bytes, at);
      continue;
    }
    at += 1;
    if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
}

/** A number or a word: it ends where no character of one stands. */
function scalarEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === comma || byte === closeBrace || byte <= 0x20) return at;
    at += 1;
  }
  return at;
}
