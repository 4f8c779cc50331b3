/** Streams a response with a list of any length; the items are created one at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** `array.values().map(render)` creates each item when it is read. */
export type ListItems<T> = Iterable<T> | AsyncIterable<T>;

/** Renders each row when it is read. */
export async function* mapItems<Row, T>(
  rows: AsyncIterable<Row>,
  render: (row: Row) => T,
): AsyncGenerator<T, void> {
  for await (const row of rows) yield render(row);
}

/**
 * After about this many characters the event loop serves other requests; an item is never divided.
 */
const sliceCharacters = 64 * 1024;

/** JSON of the shape `Body` that contains one list; its items are created and written one after another. */
export class StreamedList<Body> {
  readonly #before: string;
  readonly #items: ListItems<unknown>;
  readonly #after: string;
  /** Carries the shape for the compiler only. */
  declare readonly body: Body;

  /** A null `name` writes the bare list without an object around it. */
  constructor(
    before: Readonly<Record<string, unknown>>,
    name: string | null,
    items: ListItems<unknown>,
    after: Readonly<Record<string, unknown>> = {},
  ) {
    const [head, tail] = [before, after].map((members) => JSON.stringify(members).slice(1, -1));
    this.#before = name === null ? '[' : `{${head}${head && ','}${JSON.stringify(name)}:[`;
    this.#items = items;
    this.#after = name === null ? ']' : `]${tail && ','}${tail}}`;
  }

  /** Guards against `JSON.stringify`, which would write `{}`. */
  toJSON(): never {
    throw new TypeError('A streamed list must be written slice by slice');
  }

  /** Yields the JSON; each slice is created in its own turn of the event loop. Can be read once. */
  async *slices(): AsyncGenerator<string, void> {
    let text = this.#before;
    let separator = '';
    for await (const item of this.#items) {
      text += separator + JSON.stringify(item);
      separator = ',';
      if (text.length < sliceCharacters) continue;
      yield text;
      text = '';
      await nextTurn();
    }
    yield text + this.#after;
  }
}
