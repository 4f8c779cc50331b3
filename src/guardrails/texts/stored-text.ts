/** Converts texts that JSON stores in another form: in base64, or as JSON with escaped letters. */
export interface StoredText {
  /** The string in the JSON document. */
  readonly value: string;
  readonly encoding: 'base64' | 'json';
}

/** Bytes that decide whether base64 contains a text. */
const sampleBytes = 768;
/** Maximum depth of JSON within strings of JSON. */
const nestingMax = 8;
const dataUrl = /^data:[^,]*,/;
/** Invalid UTF-8, and control characters other than blanks. */
const noText = /\uFFFD|[^\P{Cc}\t\n\r]/gu;
const otherShareMax = 0.2;

/** The text in base64, or null if the bytes are a picture or anything else but text. */
export function textInBase64(value: string): string | null {
  const bytes = value.replace(dataUrl, '');
  const sample = Buffer.from(bytes.slice(0, (sampleBytes / 3) * 4), 'base64');
  return isText(sample) ? Buffer.from(bytes, 'base64').toString('utf8') : null;
}

/** The text in bytes, or null if they are a picture or anything else but text. */
export function textInBytes(bytes: Buffer): string | null {
  return isText(bytes.subarray(0, sampleBytes)) ? bytes.toString('utf8') : null;
}

/** Judges the first bytes of a document. */
function isText(bytes: Buffer): boolean {
  const sample = bytes.toString('utf8');
  if (sample === '' || /^%PDF-\d/.test(sample)) return false;
  // A few other bytes in a text must not hide it. Almost half of the bytes of a picture are no text.
  const otherCount = sample.match(noText)?.length ?? 0;
  return otherCount <= sample.length * otherShareMax;
}

/** JSON in a string without needless escapes, or null if it has none: `{"a":"\u0062"}` is `{"a":"b"}`. */
export function plainJson(value: string): string | null {
  if (!isEscapedJson(value)) return null;
  const plain = withoutEscapes(value, 0);
  return plain === value ? null : plain;
}

/** Whether the string looks like JSON in which texts may be escaped. */
export function isEscapedJson(value: string): boolean {
  return value.includes('\\') && /^\s*[[{"]/.test(value);
}

/** Counts commas and opening brackets up to `max`, which bounds the values of JSON cheaply. */
export function jsonPartsOf(value: string, max: number): number {
  let parts = 0;
  for (const character of ',[{') {
    for (let at = value.indexOf(character); at !== -1; at = value.indexOf(character, at + 1)) {
      parts += 1;
      if (parts >= max) return parts;
    }
  }
  return parts;
}

function withoutEscapes(text: string, depth: number): string {
  if (depth === nestingMax || !text.includes('\\') || !/^\s*[[{"]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
      typeof value === 'string' ? withoutEscapes(value, depth + 1) : value,
    );
  } catch {
    return text;
  }
}

/** The string that stores a text in place of another one. */
export function encodeText({ value, encoding }: StoredText, text: string): string {
  if (encoding === 'json') return text;
  const [prefix = ''] = dataUrl.exec(value) ?? [];
  return prefix + Buffer.from(text).toString('base64');
}

/** The text of a string that takes the place of a stored one. */
export function decodeText({ encoding }: StoredText, value: string): string {
  return (encoding === 'base64' ? textInBase64(value) : plainJson(value)) ?? value;
}
