/** Knows an answer that holds a list of any length: what stands round it, and items that are made one at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** `array.values().map(tell)` makes each as it is asked for. */
export type Items<T> = Iterable<T> | AsyncIterable<T>;

/** Each of some rows as it is told, made when it is asked for. */
export async function* mapItems<Row, T>(
  rows: AsyncIterable<Row>,
  tell: (row: Row) => T,
): AsyncGenerator<T, void> {
  for await (const row of rows) yield tell(row);
}

/**
 * About so many characters are written before whoever else waits for the event loop has a turn; an
 * item is never divided.
 */
const sliceCharacters = 64 * 1024;

/** JSON of the shape `Body` with one list in it, whose items are made and written one after another. */
export class LongList<Body> {
  readonly #before: string;
  readonly #items: Items<unknown>;
  readonly #after: string;
  /** For the compiler only: what it says. */
  declare readonly body: Body;

  /** The list's name is null where nothing stands round it. */
  constructor(
    before: Readonly<Record<string, unknown>>,
    name: string | null,
    items: Items<unknown>,
    after: Readonly<Record<string, unknown>> = {},
  ) {
    const [head, tail] = [before, after].map((members) => JSON.stringify(members).slice(1, -1));
    this.#before = name === null ? '[' : `{${head}${head && ','}${JSON.stringify(name)}:[`;
    this.#items = items;
    this.#after = name === null ? ']' : `]${tail && ','}${tail}}`;
  }

  /** Whoever takes it for a plain value would write `{}`. */
  toJSON(): never {
    throw new TypeError('A list that may be long is written by its slices');
  }

  /** The JSON, each slice made in a turn of the event loop of its own; to be read once. */
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
