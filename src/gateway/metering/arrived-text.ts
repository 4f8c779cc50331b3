/** Counts the text that the events of a stream carry, in every format, without creating values. */

/** Holds the new text of an event in the formats of chats, messages and responses. */
const deltaMarker = Buffer.from('"delta"');
/** Holds it in completions. */
const textMarker = Buffer.from('"text"');
/** Holds it in Gemini's format. */
const partsMarker = Buffer.from('"parts"');

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const blank = 0x20;
const asciiMax = 0x7f;

/** Members of a delta whose strings are no text of the model. */
const otherMembers = new Set([
  'type',
  'role',
  'id',
  'index',
  'item_id',
  'call_id',
  'tool_call_id',
  'signature',
  'thought_signature',
  'thoughtSignature',
  'mimeType',
  'encrypted_content',
  'obfuscation',
  'toolUseId',
  'redactedContent',
]);
/** Models of Anthropic and Google think more than the summary that they send. */
const summaryMembers = new Set(['thinking', 'thought', 'reasoningContent']);

/** By endpoint. */
const markers = new Map([
  ['chat_completions', deltaMarker],
  ['completions', textMarker],
  ['converse', deltaMarker],
  ['generate_content', partsMarker],
  ['interactions', deltaMarker],
  ['messages', deltaMarker],
  ['responses', deltaMarker],
]);

const bytesOfToken = 3;
/** Letters outside of ASCII have 2 to 4 bytes and up to 2 tokens. */
const otherBytesOfToken = 2;

export class ArrivedText {
  /** Whether a summary of hidden thinking arrived. */
  hasSummary = false;
  /** Whether events of the endpoint are read; those of other formats are passed over. */
  readonly isRead: boolean;
  readonly #marker: Buffer;
  #asciiBytes = 0;
  #otherBytes = 0;
  /** Events with text; a provider sends at least one token in each. */
  #events = 0;

  constructor(endpoint: string) {
    this.isRead = markers.has(endpoint);
    this.#marker = markers.get(endpoint) ?? deltaMarker;
  }

  /** Tokens of the text so far, rounded up. */
  get tokens(): number {
    const { ceil, max } = Math;
    const tokens = this.#asciiBytes / bytesOfToken + this.#otherBytes / otherBytesOfToken;
    return max(this.#events, ceil(tokens));
  }

  /** Reads complete lines. */
  add(lines: Buffer): void {
    if (!this.isRead) return;
    let at = lines.indexOf(this.#marker);
    while (at >= 0) {
      const before = this.#asciiBytes + this.#otherBytes;
      at = this.#readValue(lines, at + this.#marker.length);
      if (this.#asciiBytes + this.#otherBytes > before) this.#events += 1;
      at = lines.indexOf(this.#marker, at);
    }
  }

  /** Counts the strings of the value that follows; returns the position behind it. */
  #readValue(bytes: Buffer, from: number): number {
    let depth = 0;
    let isText = true;
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at]!;
      if (byte === quote) {
        const end = endOfString(bytes, at + 1);
        if (depth > 0 && isKey(bytes, end)) isText = this.#isTextMember(bytes, at + 1, end);
        else if (isText) this.#count(bytes, at + 1, end);
        at = end;
        if (depth === 0) return at + 1;
      } else if (byte === openBrace || byte === openBracket) depth += 1;
      else if (byte === closeBrace || byte === closeBracket) depth -= 1;
      // A value without strings, such as null, ends with a comma or with the object around it.
      if (depth < 0 || (depth === 0 && ends(byte))) return at;
      at += 1;
    }
    return at;
  }

  #isTextMember(bytes: Buffer, from: number, end: number): boolean {
    const name = bytes.toString('latin1', from, end);
    this.hasSummary ||= summaryMembers.has(name);
    return !otherMembers.has(name);
  }

  #count(bytes: Buffer, from: number, end: number): void {
    let other = 0;
    for (let at = from; at < end; at += 1) if (bytes[at]! > asciiMax) other += 1;
    this.#otherBytes += other;
    this.#asciiBytes += end - from - other;
  }
}

function ends(byte: number): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket;
}

/** Position of the closing quote, or the end of the bytes. */
function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return Math.min(at, bytes.length);
}

/** Whether the string that ends here names a member. */
function isKey(bytes: Buffer, closingQuote: number): boolean {
  let at = closingQuote + 1;
  while (bytes[at] === blank) at += 1;
  return bytes[at] === colon;
}
