/** Records which usage of slices a journal has on disk. */

/** A slice, with its usage that no unit of the bank covers, as in a record of the journal. */
interface JournalledSlice {
  readonly uncovered: { readonly before: number; readonly after: number; readonly running: number };
}

interface WrittenState {
  readonly text: string;
  readonly after: number;
}

export class WrittenStates {
  /** The last states that are on disk. */
  readonly #states = new WeakMap<JournalledSlice, WrittenState>();

  /** The slices are being written as they are now. Returns a function that must be called when they are on disk. */
  begin(slices: readonly JournalledSlice[], sequence: number): () => void {
    const states = slices.map((slice) => [slice, stateOf(slice, sequence)] as const);
    return () => {
      for (const [slice, state] of states) this.#states.set(slice, state);
    };
  }

  /** Whether the present state is on disk. */
  has(slice: JournalledSlice, sequence: number): boolean {
    return this.#states.get(slice)?.text === stateOf(slice, sequence).text;
  }

  /** Units on disk that no exchange reports yet. */
  after(slice: JournalledSlice): number {
    return this.#states.get(slice)?.after ?? 0;
  }
}

function stateOf(
  { uncovered: { before, after, running } }: JournalledSlice,
  sequence: number,
): WrittenState {
  return { text: `${sequence} ${before} ${after} ${running}`, after };
}
