/** Knows how much may be put into manifests in all: what is written once and read everywhere would grow without end. */
import { totalBytesMax } from '../source/source-files.ts';

/** As much as a source may hold: nobody writes more by hand. */
const putInBytesMax = totalBytesMax;
export const putInMebibytesMax = putInBytesMax / 1024 / 1024;

/** What one source may still put in, in bytes of JSON. */
export class Budget {
  #bytesLeft = putInBytesMax;
  readonly #sizes = new WeakMap<object, number>();

  /** Whether there is room for another copy of a value. */
  take(value: unknown): boolean {
    this.#bytesLeft -= this.#sizeOf(value);
    return this.#bytesLeft >= 0;
  }

  /** Of a map or list once, however often it is put in. */
  #sizeOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return String(value).length;
    const size = this.#sizes.get(value) ?? JSON.stringify(value).length;
    this.#sizes.set(value, size);
    return size;
  }
}
