/** Counts the bytes of all request bodies in memory, and refuses more than the process may hold. */
import { ApiError } from '../../model/wire/errors.ts';

/** The bytes of all bodies that are in memory now. */
export class HeldBytes {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins to count the body of one request. */
  hold(): HeldBody {
    let bytes = 0;
    return {
      add: (more) => {
        if (this.#bytes + more > this.#bytesMax) throw exhausted();
        this.#bytes += more;
        bytes += more;
      },
      [Symbol.dispose]: () => {
        this.#bytes -= bytes;
        bytes = 0;
      },
    };
  }
}

/** The counted bytes of one body; dispose releases them. */
export interface HeldBody extends Disposable {
  /** @throws ApiError `unavailable` when all bodies together would exceed the bound */
  add(bytes: number): void;
}

function exhausted(): ApiError {
  return new ApiError('unavailable', 'The request bodies in memory leave no room; try again');
}
