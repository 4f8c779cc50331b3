/** Converts texts that JSON stores in another form: in base64, or as JSON with escaped letters. */
export interface StoredText {
  /** The string in the JSON document. */
  readonly value: string;
  readonly encoding: 'base64' | 'json';
}

const [quote, backslash] = [0x22, 0x5c];

/** Bytes that decide whether base64 contains a text. */
const sampleBytes = 768;
/** Maximum depth of JSON within strings of JSON. */
const nestingMax = 8;
const dataUrl = /^data:[^,]*,/;
/** Invalid encoding, and control characters other than blanks. */
const noText = /\uFFFD|[^\P{Cc}\t\n\r]/gu;
const otherShareMax = 0.2;

/** The text in base64, or null if the bytes are a picture or anything else but text. */
export function textInBase64(value: string): string | null {
  const bytes = value.replace(dataUrl, '');
  const head = headOf(bytes);
  if (!isText(head)) return null;
  return decoded(Buffer.from(bytes, 'base64'), encodingOf(head));
}

/** The text in bytes, or null if they are a picture or anything else but text. */
export function textInBytes(bytes: Buffer): string | null {
  const head = bytes.subarray(0, sampleBytes);
  return isText(head) ? decoded(bytes, encodingOf(head)) : null;
}

/** The bytes of a text that takes the place of the one in `bytes`, in the same encoding. */
export function bytesOfText(text: string, bytes: Buffer): Buffer {
  const encoding = encodingOf(bytes.subarray(0, sampleBytes));
  if (encoding === 'utf8') return Buffer.from(text);
  const written = Buffer.from(text, 'utf16le');
  return encoding === 'utf16le' ? written : written.swap16();
}

function headOf(base64: string): Buffer {
  return Buffer.from(base64.slice(0, (sampleBytes / 3) * 4), 'base64');
}

/** Judges the first bytes of a document. */
function isText(head: Buffer): boolean {
  const sample = decoded(head, encodingOf(head));
  if (sample === '' || /^\uFEFF?%PDF-\d/.test(sample)) return false;
  // A few other bytes in a text must not hide it. Almost half of the bytes of a picture are no text.
  const otherCount = sample.match(noText)?.length ?? 0;
  return otherCount <= sample.length * otherShareMax;
}

type TextEncoding = 'utf8' | 'utf16le' | 'utf16be';

/** By the byte order mark; without one, UTF-16 has many zeros at every other place. */
function encodingOf(head: Buffer): TextEncoding {
  const mark = head.length < 2 ? 0 : head.readUInt16BE(0);
  if (mark === 0xfffe) return 'utf16le';
  if (mark === 0xfeff) return 'utf16be';
  const zeros = [0, 0] as [number, number];
  for (let at = 0; at < head.length; at += 1) if (head[at] === 0) zeros[at % 2]! += 1;
  const many = head.length / 5;
  const [even, odd] = zeros;
  if (odd > many && even < many / 4) return 'utf16le';
  return even > many && odd < many / 4 ? 'utf16be' : 'utf8';
}

function decoded(bytes: Buffer, encoding: TextEncoding): string {
  if (encoding !== 'utf16be') return bytes.toString(encoding);
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  return Buffer.from(even).swap16().toString('utf16le');
}

/** Strings with escapes that may still be read, each of which takes time. */
export interface EscapeBudget {
  strings: number;
}

export function escapeBudget(): EscapeBudget {
  return { strings: 100_000 };
}

/** The message says what the document is or has. */
export class TextsUnreadable extends Error {
  override name = 'TextsUnreadable';
}

/** JSON in a string, or lines of it, without needless escapes; null if it has none: `{"a":"\u0062"}` is `{"a":"b"}`. */
export function plainJson(value: string, budget = escapeBudget()): string | null {
  if (!isEscapedJson(value)) return null;
  const plain = withoutEscapes(value, 0, budget);
  return plain === value ? null : plain;
}

/** Whether the string looks like JSON in which texts may be escaped. */
function isEscapedJson(value: string): boolean {
  return value.includes('\\') && /^\s*[[{"]/.test(value);
}

/**
 * Writes the strings of JSON with as few escapes as possible, and nothing else: members that occur twice, numbers,
 * blanks and whatever is no JSON stay as they are, because a reader sees them too.
 */
function withoutEscapes(text: string, depth: number, budget: EscapeBudget): string {
  if (depth === nestingMax || !isEscapedJson(text)) return text;
  const parts: string[] = [];
  let copied = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const { end, isEscaped } = stringAt(text, at);
    if (end === -1) break;
    const plain = isEscaped ? plainString(text.slice(at, end), depth, budget) : null;
    if (plain !== null) {
      parts.push(text.slice(copied, at), plain);
      copied = end;
    }
    at = end;
  }
  return parts.join('') + text.slice(copied);
}

/** The end of the string that begins at `start`, -1 if it has none, and whether it has escapes. */
function stringAt(text: string, start: number): { end: number; isEscaped: boolean } {
  let isEscaped = false;
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return { end: at + 1, isEscaped };
    if (code !== backslash) continue;
    isEscaped = true;
    at += 1;
  }
  return { end: -1, isEscaped };
}

/** Null for a string with invalid escapes, or with none that can be left out. @throws TextsUnreadable */
function plainString(literal: string, depth: number, budget: EscapeBudget): string | null {
  budget.strings -= 1;
  if (budget.strings < 0)
    throw new TextsUnreadable('has too many escaped strings within its texts');
  const text = stringIn(literal);
  if (text === null) return null;
  const plain = JSON.stringify(withoutEscapes(text, depth + 1, budget));
  return plain === literal ? null : plain;
}

function stringIn(literal: string): string | null {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return null;
  }
}

/** The string that stores a text in place of another one. */
export function encodeText({ value, encoding }: StoredText, text: string): string {
  if (encoding === 'json') return text;
  const [prefix = ''] = dataUrl.exec(value) ?? [];
  return prefix + bytesOfText(text, headOf(value.slice(prefix.length))).toString('base64');
}

/** The text of a string that takes the place of a stored one. */
export function decodeText({ encoding }: StoredText, value: string): string {
  const text = encoding === 'base64' ? (textInBase64(value) ?? value) : value;
  return plainJson(text) ?? text;
}
