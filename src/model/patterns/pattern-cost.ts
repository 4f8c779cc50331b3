/**
 * Estimates from the text of a pattern what compiling it costs, so that expensive ones are never
 * compiled. Written by hand: re2js has no limit on the time or memory of compiling.
 */

/** Measures of a part of a pattern after repetitions are expanded, as the engine expands them. */
interface Piece {
  /** Instructions of the compiled program. */
  readonly size: number;
  /** Whether it can match the empty text. */
  readonly nullable: boolean;
  /** The positions at which a match can begin. */
  readonly first: Places;
  /** Number of positions at which a match can end. */
  readonly ends: number;
  /** The positions within the part that can follow one of its ends. */
  readonly after: Places;
  /** Comparisons made for the followers of all inner positions. */
  readonly comparisons: number;
}

interface Places {
  readonly count: number;
  /** Character ranges at all positions together. */
  readonly ranges: number;
}

const nowhere: Places = { count: 0, ranges: 0 };
const nothing: Piece = {
  size: 0,
  nullable: true,
  first: nowhere,
  ends: 0,
  after: nowhere,
  comparisons: 0,
};
/** `^`, `\b`, an empty alternative: an instruction that consumes no character. */
const emptyMatch: Piece = { ...nothing, size: 1 };

function characters(ranges: number): Piece {
  const first = { count: 1, ranges };
  const comparisons = comparisonsPerRange * ranges;
  return { size: 1, nullable: false, first, ends: 1, after: nowhere, comparisons };
}

/** Either of two can come next, so their ranges are compared with each other. */
function union(one: Places, other: Places): Places {
  return { count: one.count + other.count, ranges: one.ranges + other.ranges };
}

function comparing({ count, ranges }: Places): number {
  return count * ranges;
}

function sequence(one: Piece, other: Piece): Piece {
  const following = union(one.after, other.first);
  const inner = one.comparisons + other.comparisons + one.ends * comparing(following);
  return {
    size: one.size + other.size,
    nullable: one.nullable && other.nullable,
    first: one.nullable ? union(one.first, other.first) : one.first,
    ends: other.nullable ? one.ends + other.ends : other.ends,
    after: other.nullable ? larger(following, other.after) : other.after,
    comparisons: inner,
  };
}

function either(one: Piece, other: Piece): Piece {
  return {
    size: one.size + other.size + 1,
    nullable: one.nullable || other.nullable,
    first: union(one.first, other.first),
    ends: one.ends + other.ends,
    after: larger(one.after, other.after),
    comparisons: one.comparisons + other.comparisons,
  };
}

function larger(one: Places, other: Places): Places {
  return comparing(one) >= comparing(other) ? one : other;
}

function optional(piece: Piece): Piece {
  return { ...piece, size: piece.size + 1, nullable: true };
}

/** `*` and `+`: a match can begin again after each end. */
function loop(piece: Piece, nullable: boolean): Piece {
  return {
    ...piece,
    size: piece.size + 2,
    nullable: piece.nullable || nullable,
    after: union(piece.after, piece.first),
    comparisons: piece.comparisons + piece.ends * comparing(union(piece.after, piece.first)),
  };
}

/** `{min,max}`; `{min,}` is a loop over `min` copies. */
function repeat(piece: Piece, min: number, max: number): Piece {
  const copies = Math.max(1, max);
  // If the copies can match the empty text, a match can begin in each of them.
  const reach = piece.nullable ? copies : 1;
  const first = { count: piece.first.count * reach, ranges: piece.first.ranges * reach };
  const after = union(piece.after, first);
  return {
    size: copies * (piece.size + (piece.nullable ? 2 : 1)) + 2,
    nullable: piece.nullable || min === 0,
    first,
    ends: piece.ends * copies,
    after,
    comparisons: copies * (piece.comparisons + piece.ends * comparing(after)),
  };
}

/** An open group: the alternatives so far, the sequence before the last item, and that item. */
interface Group {
  alternatives: Piece | null;
  before: Piece;
  last: Piece;
}

/** Code points above this have no case variants. */
const foldedMax = 0x1e943;
/** Number of code points whose case variants are looked up in one unit of work. */
const foldsPerUnit = 30;
/** Number of ranges in a class such as `\p{L}`, and the work of reading its table. */
const unicodeRanges = 700;
const unicodeUnits = 80;
/**
 * For an anchored program the engine looks for a one-pass form, which needs no queue. It compares the
 * possible followers of each position and copies the ranges of each.
 */
const comparisonsPerUnit = 60;
const comparisonsPerRange = 1.5;
/** Cost of the smallest pattern. */
const baseUnits = 20;

const quoted = /\\Q(.*?)(?:\\E|$)/suy;
const zeroWidth = /\\[AzbB]|[\^$]/y;
const unicodeClass = /\\[pP](?:\{[^}]*\}?|.?)/suy;
const groupStart = /\((?:\?(?:P?<[^>]*>?|[^:)]*[:)]?))?/suy;
const quantifier = /[*+?]\??/y;
const counted = /\{(\d+)(,(\d*))?\}\??/y;
const classItem = /\[:\^?[a-z]+:\]|\\x\{[^}]*\}|\\x[0-9a-fA-F]{2}|\\.|./suy;
const character = /\\x\{[^}]*\}|\\.|\\$|./suy;

/**
 * Returns an upper bound on the cost of compiling a pattern, in units of about one microsecond.
 * `\d{1000}` counts a thousand times, because the engine expands repetitions. An invalid pattern gets
 * some number too.
 */
export function patternCost(pattern: string): number {
  return new CostReader(pattern).read();
}

class CostReader {
  readonly #text: string;
  /** Whether the pattern contains `(?i)` anywhere. */
  readonly #folds: boolean;
  readonly #open: Group[] = [];
  #group: Group = emptyGroup();
  #at = 0;
  #classUnits = 0;

  constructor(text: string) {
    this.#text = text;
    this.#folds = /\(\?[^:)]*i/.test(text);
  }

  read(): number {
    while (this.#at < this.#text.length) this.#item();
    while (this.#open.length > 0) this.#close();
    const { size, first, comparisons } = closed(this.#group);
    const anchored = /\^|\\A/.test(this.#text);
    const compared = anchored ? comparing(first) + comparisons : 0;
    return Math.ceil(baseUnits + size + this.#classUnits + compared / comparisonsPerUnit);
  }

  #item(): void {
    const literal = this.#take(quoted);
    if (literal !== null) {
      for (const _ of literal[1]!) this.#push(characters(1));
    } else if (this.#take(zeroWidth) !== null) this.#push(emptyMatch);
    else if (this.#take(unicodeClass) !== null) this.#push(this.#unicode());
    else if (this.#take(/\[/y) !== null) this.#push(this.#class());
    else if (!this.#structure() && !this.#repetition()) {
      this.#take(character);
      this.#push(characters(1));
    }
  }

  /** Parentheses and bars. */
  #structure(): boolean {
    const start = this.#take(groupStart)?.[0];
    // Flags alone, as in `(?i)`, apply to what follows.
    if (start?.endsWith(')')) return true;
    if (start !== undefined) {
      this.#open.push(this.#group);
      this.#group = emptyGroup();
      return true;
    }
    if (this.#take(/\)/y) !== null) this.#close();
    else if (this.#take(/\|/y) !== null) {
      const { alternatives, before, last } = this.#group;
      const sofar = closed({ alternatives, before, last });
      this.#group = { ...emptyGroup(), alternatives: sofar };
    } else return false;
    return true;
  }

  #repetition(): boolean {
    const { last } = this.#group;
    const sign = this.#take(quantifier)?.[0][0];
    if (sign !== undefined) {
      this.#group.last = sign === '?' ? optional(last) : loop(last, sign === '*');
      return true;
    }
    const bounds = this.#take(counted);
    if (bounds === null) return false;
    const min = Number(bounds[1]);
    const open = bounds[2] !== undefined && bounds[3] === '';
    const repeated = repeat(last, min, open ? min : Number(bounds[3] ?? min));
    this.#group.last = open ? loop(repeated, min === 0) : repeated;
    return true;
  }

  #push(piece: Piece): void {
    const { before, last } = this.#group;
    this.#group.before = sequence(before, last);
    this.#group.last = piece;
  }

  #close(): void {
    const inner = closed(this.#group);
    this.#group = this.#open.pop() ?? emptyGroup();
    this.#push({ ...inner, size: inner.size + 2 });
  }

  #unicode(): Piece {
    this.#classUnits += this.#folds ? 2 * unicodeUnits : unicodeUnits;
    return characters(unicodeRanges);
  }

  /** Reads a bracket expression whose opening bracket has been read. */
  #class(): Piece {
    this.#take(/\^/y);
    let ranges = 0;
    let low: number | null = null;
    for (let first = true; this.#at < this.#text.length; first = false) {
      if (!first && this.#take(/\]/y) !== null) break;
      if (this.#take(unicodeClass) !== null) {
        ranges += this.#unicode().first.ranges;
        low = null;
        continue;
      }
      const isRange: boolean =
        low !== null && /^-[^\]]/su.test(this.#text.slice(this.#at, this.#at + 3));
      if (isRange) this.#at += 1;
      const point = codePointOf(this.#take(classItem)?.[0] ?? '');
      this.#classUnits += isRange ? this.#rangeUnits(low, point) : 1;
      // A letter can have case variants.
      ranges += this.#folds ? 4 : 1;
      low = isRange ? null : point;
    }
    return characters(ranges);
  }

  /** A case-sensitive range costs one unit. An end that is no plain character counts as the highest code point. */
  #rangeUnits(low: number | null, high: number | null): number {
    if (!this.#folds) return 1;
    const width = Math.min(high ?? foldedMax, foldedMax) - (low ?? 0);
    return 1 + Math.max(0, width) / foldsPerUnit;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    this.#at += match?.[0].length ?? 0;
    return match;
  }
}

function emptyGroup(): Group {
  return { alternatives: null, before: nothing, last: nothing };
}

function closed({ alternatives, before, last }: Group): Piece {
  const isEmpty = before === nothing && last === nothing;
  const whole = isEmpty ? emptyMatch : sequence(before, last);
  return alternatives === null ? whole : either(alternatives, whole);
}

/** Code point of one character in a class; null for a named class or an escape such as `\n`. */
function codePointOf(item: string): number | null {
  const hex = /^\\x\{?([0-9a-fA-F]+)/.exec(item)?.[1];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  if (/^\\[^a-zA-Z0-9]$/su.test(item)) return item.codePointAt(1)!;
  return [...item].length === 1 ? item.codePointAt(0)! : null;
}
