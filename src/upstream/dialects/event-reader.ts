/** Knows how the bytes of a stream of events are cut into what each of them says, wherever their pieces end. */
import { StringDecoder } from 'node:string_decoder';
import { NotTranslatable } from './document-node.ts';

/** Of one event; more than any model says at once. */
const charsMax = 4 * 1024 * 1024;
const lineEnd = /\r\n|\r|\n/;

export class EventReader {
  readonly #decoder = new StringDecoder('utf8');
  /** What came of a line that has not ended. */
  #line = '';
  /** Of the event that has not ended. */
  #data: string[] = [];
  #dataChars = 0;
  /** A line feed that follows belongs to the end of the line before. */
  #isAfterReturn = false;
  #isFirst = true;

  /**
   * Hands over the data of each event that ends within these bytes.
   *
   * @throws NotTranslatable where an event is larger than any has to be
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

  /** The event that nothing ended but the stream itself; null for none. */
  rest(): string | null {
    const last = this.#take(this.#line + this.#decoder.end());
    this.#line = '';
    return last ?? this.#take('');
  }

  /** A line; yields the data of the event that it ends. */
  #take(line: string): string | null {
    if (line === '') {
      const data = this.#data.length === 0 ? null : this.#data.join('\n');
      this.#data = [];
      this.#dataChars = 0;
      return data;
    }
    this.#requireRoom(line);
    if (line.startsWith('data:')) {
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
