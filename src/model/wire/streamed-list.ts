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
  #before: Readonly<Record<string, unknown>>;
  readonly #name: string | null;
  #items: ListItems<unknown>;
  readonly #after: Readonly<Record<string, unknown>>;
  /** Carries the shape for the compiler only. */
  declare readonly body: Body;

  /** A null `name` writes the bare list without an object around it. */
  constructor(
    before: Readonly<Record<string, unknown>>,
    name: string | null,
    items: ListItems<unknown>,
    after: Readonly<Record<string, unknown>> = {},
  ) {
    this.#before = before;
    this.#name = name;
    this.#items = items;
    this.#after = after;
  }

  /** The members before the list. */
  get members(): Readonly<Record<string, unknown>> {
    return this.#before;
  }

  /** Adds members before the list; call it before the list is read. */
  addMembers(members: Readonly<Record<string, unknown>>): void {
    this.#before = { ...this.#before, ...members };
  }

  /** Replaces the items by those that `change` makes of them; call it before the list is read. */
  changeItems(change: (items: ListItems<unknown>) => ListItems<unknown>): void {
    this.#items = change(this.#items);
  }

  /** Guards against `JSON.stringify`, which would write `{}`. */
  toJSON(): never {
    throw new TypeError('A streamed list must be written slice by slice');
  }

  /** Yields the JSON; each slice is created in its own turn of the event loop. Can be read once. */
  async *slices(): AsyncGenerator<string, void> {
    const [head, tail] = [this.#before, this.#after].map((members) =>
      JSON.stringify(members).slice(1, -1),
    );
    const name = JSON.stringify(this.#name);
    let text = this.#name === null ? '[' : `{${head}${head && ','}${name}:[`;
    let separator = '';
    for await (const item of this.#items) {
      text += separator + JSON.stringify(item);
      separator = ',';
      if (text.length < sliceCharacters) continue;
      yield text;
      text = '';
      await nextTurn();
    }
    yield text + (this.#name === null ? ']' : `]${tail && ','}${tail}}`);
  }
}
