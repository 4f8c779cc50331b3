/** One text of a stream that is judged in windows: what has arrived, what may be sent, and what it became. */

/** Ranges of a text that a check replaced, ascending, with the length of what took their place. */
export type TextEdits = readonly TextEdit[];

interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly length: number;
}

export interface WindowVerdict {
  readonly isDenied: boolean;
  /** The text as the checks left it. */
  readonly text: string;
  /** For each check that changed the text, the ranges that it replaced; null where one does not tell. */
  readonly stages: readonly TextEdits[] | null;
}

export interface WindowedTextOptions {
  readonly name: string;
  readonly isAside: boolean;
  /** Text that is gathered before it is judged. */
  readonly windowBytes: number;
  /** Text at the end that is held back, because a match may begin in it. */
  readonly holdBytes: number;
}

interface Segment {
  readonly start: number;
  readonly end: number;
  readonly source: string;
  readonly output: string;
  isWritten: boolean;
}

/** A character of a word, at which `\b` depends on the character beside it, or the first half of a character. */
const noBoundary = /[0-9A-Za-z_\uD800-\uDBFF]/;

/** Offsets are characters of the whole text. A text of n bytes has at most n characters. */
export class WindowedText {
  readonly name: string;
  readonly isAside: boolean;
  readonly #windowBytes: number;
  readonly #holdBytes: number;
  /** The text from `#base` on. */
  #text = '';
  /** Where judgement begins anew: outside of every match, and not behind a letter. */
  #base = 0;
  #judgedLength = 0;
  #segments: Segment[] = [];
  /** End of what may be sent. */
  released = 0;

  constructor({ name, isAside, windowBytes, holdBytes }: WindowedTextOptions) {
    this.name = name;
    this.isAside = isAside;
    this.#windowBytes = windowBytes;
    this.#holdBytes = holdBytes;
  }

  get length(): number {
    return this.#base + this.#text.length;
  }

  /** Whether enough has arrived since the last judgement. */
  get isDue(): boolean {
    return this.length - this.#judgedLength >= this.#windowBytes - this.#holdBytes;
  }

  get hasUnreleased(): boolean {
    return this.released < this.length;
  }

  add(piece: string): void {
    this.#text += piece;
  }

  /** The text to judge. Before the end it stops behind a word; null while there is none. */
  judgedText(isEnd: boolean): string | null {
    this.#judgedLength = this.length;
    if (isEnd) return this.#text;
    const end = lastBoundary(this.#text, this.#text.length, 0);
    return end === 0 ? null : this.#text.slice(0, end);
  }

  /**
   * Releases what no coming text can change. False when a check would change what was sent before, which happens only to a
   * text that goes on after its end.
   */
  release(text: string, { text: result, stages }: WindowVerdict, isEnd: boolean): boolean {
    const sent = this.released - this.#base;
    if (stages === null) {
      if (!isEnd) return true;
      if (sent > 0) return false;
      this.#addSegment(text, result);
      this.#text = '';
      this.#base = this.released;
      return true;
    }
    const from = mappedOffset(sent, stages);
    if (from === null) return false;
    const next = this.#cut(text, stages);
    const cut = isEnd ? text.length : next;
    if (cut !== null && cut > sent) {
      const to = isEnd ? result.length : mappedOffset(cut, stages)!;
      this.#addSegment(text.slice(sent, cut), result.slice(from, to));
    }
    if (next !== null) {
      this.#base += next;
      this.#text = this.#text.slice(next);
    }
    return true;
  }

  /** The text of a range that may be sent. A changed segment is written with the first piece in it. */
  output(start: number, end: number): string {
    let text = '';
    for (const segment of this.#segments) {
      if (segment.end <= start || segment.start >= end) continue;
      if (segment.output === segment.source) {
        const from = Math.max(start, segment.start) - segment.start;
        text += segment.source.slice(from, Math.min(end, segment.end) - segment.start);
      } else if (!segment.isWritten) {
        segment.isWritten = true;
        text += segment.output;
      }
    }
    this.#segments = this.#segments.filter((segment) => segment.end > end);
    return text;
  }

  #addSegment(source: string, output: string): void {
    const start = this.released;
    const end = start + source.length;
    this.#segments.push({ start, end, source, output, isWritten: false });
    this.released = end;
  }

  /** The last offset from which judgement may begin anew; null for none. */
  #cut(text: string, stages: readonly TextEdits[]): number | null {
    for (let at = text.length - this.#holdBytes; at > 0; at -= 1) {
      at = lastBoundary(text, at, 0);
      if (at > 0 && mappedOffset(at, stages) !== null) return at;
    }
    return null;
  }
}

/** The last offset up to `from` that is behind no letter; `least` for none. */
function lastBoundary(text: string, from: number, least: number): number {
  for (let at = from; at > least; at -= 1) if (!noBoundary.test(text[at - 1]!)) return at;
  return least;
}

/** Where an offset is after all changes; null for one within a replaced range or directly behind it. */
function mappedOffset(offset: number, stages: readonly TextEdits[]): number | null {
  let mapped = offset;
  for (const edits of stages) {
    let shift = 0;
    for (const { start, end, length } of edits) {
      if (start >= mapped) break;
      if (end >= mapped) return null;
      shift += length - (end - start);
    }
    mapped += shift;
  }
  return mapped;
}
