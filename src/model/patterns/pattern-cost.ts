/** Knows what it costs to compile a pattern, told from its text alone, so that costly ones are never compiled. */

/** What is known of a piece of a pattern once repetitions are written out, as the engine does. */
interface Piece {
  /** Instructions of the compiled program. */
  readonly size: number;
  /** Whether it can match nothing. */
  readonly nullable: boolean;
  /** The places at which a match of it can begin. */
  readonly first: Places;
  /** How many places it can end at. */
  readonly ends: number;
  /** The places that can follow within it upon one of its ends. */
  readonly after: Places;
  /** Comparisons made for the followers of all its inner places. */
  readonly comparisons: number;
}

interface Places {
  readonly count: number;
  /** Ranges of characters at all of them together. */
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
/** `^`, `\b`, an alternative without a letter and the like: an instruction that reads no character. */
const emptyMatch: Piece = { ...nothing, size: 1 };

function characters(ranges: number): Piece {
  const first = { count: 1, ranges };
  const comparisons = comparisonsPerRange * ranges;
  return { size: 1, nullable: false, first, ends: 1, after: nowhere, comparisons };
}

/** Either of two may come next, so their ranges are compared with each other. */
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

/** `*` and `+`: what it begins with may follow upon its ends. */
function loop(piece: Piece, nullable: boolean): Piece {
  return {
    ...piece,
    size: piece.size + 2,
    nullable: piece.nullable || nullable,
    after: union(piece.after, piece.first),
    comparisons: piece.comparisons + piece.ends * comparing(union(piece.after, piece.first)),
  };
}

/** `{min,max}`, where `{min,}` is a loop over as many copies. */
function repeat(piece: Piece, min: number, max: number): Piece {
  const copies = Math.max(1, max);
  // Copies that can all match nothing may each begin at the first.
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

/** A group that is still open: the alternatives so far, the sequence before the last item, that item. */
interface Group {
  alternatives: Piece | null;
  before: Piece;
  last: Piece;
}

/** Code points beyond it have no variants by case. */
const foldedMax = 0x1e943;
/** Code points of a range whose variants by case are looked up in one unit. */
const foldsPerUnit = 30;
/** Of a class such as `\p{L}`: how many ranges, and the work of reading its table. */
const unicodeRanges = 700;
const unicodeUnits = 80;
/**
 * For an anchored program the engine seeks a form that needs no queue: it compares what may follow
 * upon each place, and copies the ranges of each.
 */
const comparisonsPerUnit = 60;
const comparisonsPerRange = 1.5;
/** What the smallest pattern costs. */
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
 * Units of work, about a microsecond each, that compiling a pattern takes at most. `\d{1000}` counts
 * a thousand times, because the engine writes repetitions out; a text that is no pattern gets some
 * number too.
 */
export function patternCost(pattern: string): number {
  return new CostReader(pattern).read();
}

class CostReader {
  readonly #text: string;
  /** Whether `(?i)` may stand anywhere. */
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
    // Flags alone, as in `(?i)`, hold for what follows.
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

  /** What stands between brackets; the opening one is taken. */
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
      // A letter may have variants by case.
      ranges += this.#folds ? 4 : 1;
      low = isRange ? null : point;
    }
    return characters(ranges);
  }

  /** Without regard to case a range costs one; an end that is not plain counts as the furthest. */
  #rangeUnits(low: number | null, high: number | null): number {
    if (!this.#folds) return 1;
    const width = Math.min(high ?? foldedMax, foldedMax) - (low ?? 0);
    return 1 + Math.max(0, width) / foldsPerUnit;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    this.#at += found?.[0].length ?? 0;
    return found;
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

/** Of one character of a class; null for a named class or an escape such as `\n`. */
function codePointOf(item: string): number | null {
  const hex = /^\\x\{?([0-9a-fA-F]+)/.exec(item)?.[1];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  if (/^\\[^a-zA-Z0-9]$/su.test(item)) return item.codePointAt(1)!;
  return [...item].length === 1 ? item.codePointAt(0)! : null;
}
