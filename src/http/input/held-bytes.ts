/** Bounds the bytes of all request bodies of the Admin API in memory. */
import { ApiError } from '../../model/wire/errors.ts';
import { BodyHold } from './body-hold.ts';

/** The bytes of all bodies that are in memory now. */
export class HeldBytes {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins to count the body of one request, which throws ApiError `unavailable` when there is no room. */
  hold(): BodyHold {
    return new BodyHold((bytes) => this.#take(bytes));
  }

  #take(bytes: number): void {
    if (bytes > 0 && this.#bytes + bytes > this.#bytesMax) {
      throw new ApiError('unavailable', 'The request bodies in memory leave no room; try again');
    }
    this.#bytes += bytes;
  }
}
