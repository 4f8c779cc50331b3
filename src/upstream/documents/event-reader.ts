/** Parses server-sent events from chunks of bytes. Hand-written because it must bound event sizes and run for every chunk. */
import { StringDecoder } from 'node:string_decoder';
import { NotTranslatable } from './document-node.ts';

/** Bound of one event. */
const charsMax = 4 * 1024 * 1024;
const lineEnd = /\r\n|\r|\n/;

export class EventReader {
  readonly #decoder = new StringDecoder('utf8');
  /** Incomplete line. */
  #line = '';
  /** Data lines of the incomplete event. */
  #data: string[] = [];
  #dataChars = 0;
  /** Whether a line feed at the start of the next chunk belongs to the previous line end. */
  #isAfterReturn = false;
  #isFirst = true;

  /**
   * Passes the data of each event that ends within these bytes to `onEvent`.
   *
   * @throws NotTranslatable for an oversized event
   */
  push(bytes: Buffer, onEvent: (data: string) => void): void {
    let text = this.#decoder.write(bytes);
    if (text === '') return;
    if (this.#isFirst && text.startsWith('\uFEFF')) text = text.slice(1);
    this.#isFirst = false;
    if (this.#isAfterReturn && text.startsWith('\n')) text = text.slice(1);
    this.#isAfterReturn = text.endsWith('\r');
    const lines = text.split(lineEnd);
    lines[0] = this.#line + lines[0]!;
    this.#line = lines.pop()!;
    for (const line of lines) {
      const data = this.#take(line);
      if (data !== null) onEvent(data);
    }
    this.#requireRoom(this.#line);
  }

  /** Returns the event that only the end of the stream completes; null for none. */
  rest(): string | null {
    const last = this.#take(this.#line + this.#decoder.end());
    this.#line = '';
    return last ?? this.#take('');
  }

  /** Reads a line; returns the data of the event that it completes. */
  #take(line: string): string | null {
    if (line === '') {
      const data = this.#data.length === 0 ? null : this.#data.join('\n');
      this.#data = [];
      this.#dataChars = 0;
      return data;
    }
    this.#requireRoom(line);
    // A line without a colon is a field with an empty value.
    if (line === 'data' || line.startsWith('data:')) {
      this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      this.#dataChars += line.length;
    }
    return null;
  }

  #requireRoom(line: string): void {
    if (this.#dataChars + line.length > charsMax) {
      throw new NotTranslatable('', `has an event of more than ${charsMax} characters`);
    }
  }
}
