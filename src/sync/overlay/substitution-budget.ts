/**
 * Limits the total size of values put into manifests, which repeated use could multiply without
 * end.
 */
import { totalBytesMax } from '../source/source-files.ts';

/** The size limit of a source: nobody writes more by hand. */
const putInBytesMax = totalBytesMax;
export const putInMebibytesMax = putInBytesMax / 1024 / 1024;

/** The bytes of JSON that one source may still put in. */
export class SubstitutionBudget {
  #bytesLeft = putInBytesMax;
  readonly #sizes = new WeakMap<object, number>();

  /** Returns whether there is room for another copy of a value, and takes it. */
  take(value: unknown): boolean {
    this.#bytesLeft -= this.#sizeOf(value);
    return this.#bytesLeft >= 0;
  }

  /** The size of a map or list is computed once. */
  #sizeOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return String(value).length;
    const size = this.#sizes.get(value) ?? JSON.stringify(value).length;
    this.#sizes.set(value, size);
    return size;
  }
}
