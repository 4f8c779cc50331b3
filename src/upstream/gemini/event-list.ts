/** Writes the events of a stream as one JSON list, which Gemini sends without `alt=sse`. */
import { EventReader } from '../documents/event-reader.ts';

export class EventList {
  readonly #reader = new EventReader();
  #hasItems = false;

  /** Returns the bytes for the caller. */
  pass(events: Buffer): Buffer {
    let list = '';
    this.#reader.push(events, (data) => {
      list += this.#item(data);
    });
    return Buffer.from(list);
  }

  /** Returns the end of the list. */
  rest(): Buffer {
    const last = this.#reader.rest();
    const item = last === null ? '' : this.#item(last);
    return Buffer.from(`${item}${this.#hasItems ? '' : '['}]`);
  }

  #item(data: string): string {
    const separator = this.#hasItems ? ',\r\n' : '[';
    this.#hasItems = true;
    return `${separator}${data}\n`;
  }
}
