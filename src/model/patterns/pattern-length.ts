/** Computes an upper bound of the length of what a pattern matches, from its text. */

/** A character takes at most 4 bytes in UTF-8; letter case and classes may select any character. */
const bytesPerCharacter = 4;
/** Longer bounds are of no use for windows of a stream. */
const bytesMax = 64 * 1024;

interface Cursor {
  readonly pattern: string;
  at: number;
}

/**
 * The maximum length in bytes of UTF-8; null for a pattern without a bound, with an anchor, or that may match the empty
 * text. `pattern` has been accepted by the pattern checker.
 */
export function longestMatchBytes(pattern: string): number | null {
  // Anchors depend on where the searched text begins and ends; \B and flags are rare and not worth the rules.
  if (/\\[AzZBQCK]|\(\?[^:P<]/.test(pattern.replace(/^\(\?[is]+\)/, ''))) return null;
  const cursor = { pattern: pattern.replace(/^\(\?[is]+\)/, ''), at: 0 };
  const length = alternatives(cursor);
  const isWhole = cursor.at === cursor.pattern.length;
  if (length === null || !isWhole || length.least === 0) return null;
  const bytes = length.most * bytesPerCharacter;
  return bytes > bytesMax ? null : bytes;
}

/** Characters. */
interface MatchLength {
  readonly least: number;
  readonly most: number;
}

const empty: MatchLength = { least: 0, most: 0 };

function alternatives(cursor: Cursor): MatchLength | null {
  let whole = sequence(cursor);
  while (whole !== null && cursor.pattern[cursor.at] === '|') {
    cursor.at += 1;
    const other = sequence(cursor);
    if (other === null) return null;
    const { least, most } = whole;
    whole = { least: Math.min(least, other.least), most: Math.max(most, other.most) };
  }
  return whole;
}

function sequence(cursor: Cursor): MatchLength | null {
  const { pattern } = cursor;
  let whole = empty;
  while (cursor.at < pattern.length && pattern[cursor.at] !== '|' && pattern[cursor.at] !== ')') {
    const one = atom(cursor);
    const times = one && repetition(cursor);
    if (one === null || times === null) return null;
    whole = {
      least: whole.least + one.least * times.least,
      most: whole.most + one.most * times.most,
    };
  }
  return whole;
}

function atom(cursor: Cursor): MatchLength | null {
  const { pattern } = cursor;
  const character = String.fromCodePoint(pattern.codePointAt(cursor.at)!);
  const start = cursor.at;
  cursor.at += character.length;
  if (character === '^' || character === '$') return null;
  if (character === '(') return group(cursor);
  if (character === '[') cursor.at = classEnd(pattern, start);
  if (character !== '\\') return { least: 1, most: 1 };
  const escaped = /^\\(?:[pP]\{[^}]*\}|x\{[^}]*\}|x[\da-fA-F]{2}|[0-7]{1,3}|[\s\S])/.exec(
    pattern.slice(start),
  );
  if (escaped === null) return null;
  cursor.at = start + escaped[0].length;
  return escaped[0] === String.raw`\b` ? empty : { least: 1, most: 1 };
}

function group(cursor: Cursor): MatchLength | null {
  const { pattern } = cursor;
  const opening = /^\?(?::|P?<\w+>)/.exec(pattern.slice(cursor.at));
  cursor.at += opening?.[0].length ?? 0;
  const inner = alternatives(cursor);
  if (pattern[cursor.at] !== ')') return null;
  cursor.at += 1;
  return inner;
}

/** The offset behind a class such as `[^\]a-z[:alpha:]]`. */
function classEnd(pattern: string, start: number): number {
  const whole = /^\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]/.exec(pattern.slice(start));
  return start + (whole?.[0].length ?? pattern.length);
}

/** How often the atom before is repeated; null without a bound. */
function repetition(cursor: Cursor): MatchLength | null {
  const found = /^(?:[?*+]|\{(\d+)(,(\d*))?\})\??/.exec(cursor.pattern.slice(cursor.at));
  if (found === null) return { least: 1, most: 1 };
  cursor.at += found[0].length;
  const [whole, least, comma, most] = found;
  if (whole.startsWith('?')) return { least: 0, most: 1 };
  if (least === undefined || (comma !== undefined && most === '')) return null;
  return { least: Number(least), most: Number(most ?? least) };
}
