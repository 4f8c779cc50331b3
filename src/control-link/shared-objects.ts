/** Reads objects of the snapshot once for all gateways that want them, and keeps those that were wanted last. */
import type { ObjectAddress } from '../snapshot/reading/read-update.ts';
import type { SnapshotOrigin } from '../snapshot/reading/snapshot-origin.ts';

interface SharedObject {
  /** Null for an object that does not exist. */
  readonly read: Promise<Buffer | null>;
  bytes: number;
}

/**
 * A change makes every gateway want the same few objects at once, and an object never changes. Objects that do not exist
 * are not kept, because they may be written later.
 */
export class SharedObjects {
  readonly #origin: Pick<SnapshotOrigin, 'readObjects'>;
  readonly #bytesMax: number;
  /** By etag, the one that was wanted last at the end. */
  readonly #objects = new Map<string, SharedObject>();
  #bytes = 0;

  constructor(origin: Pick<SnapshotOrigin, 'readObjects'>, bytesMax: number) {
    this.#origin = origin;
    this.#bytesMax = bytesMax;
  }

  /** In the order of the addresses; null for objects that do not exist. */
  read(addresses: readonly ObjectAddress[]): Promise<(Buffer | null)[]> {
    const unknown = addresses.filter(({ etag }) => !this.#objects.has(etag));
    if (unknown.length > 0) this.#begin(unknown);
    const wanted = addresses.map(({ etag }) => {
      const object = this.#objects.get(etag)!;
      this.#objects.delete(etag);
      this.#objects.set(etag, object);
      return object.read;
    });
    this.#evict();
    return Promise.all(wanted);
  }

  #begin(addresses: readonly ObjectAddress[]): void {
    const reading = this.#origin.readObjects(addresses);
    for (const { etag } of addresses) {
      const object: SharedObject = {
        read: reading.then((found) => found.get(etag) ?? null),
        bytes: 0,
      };
      this.#objects.set(etag, object);
      object.read.then(
        (found) => this.#note(etag, object, found),
        () => this.#forget(etag, object),
      );
    }
  }

  #note(etag: string, object: SharedObject, found: Buffer | null): void {
    if (found === null) this.#forget(etag, object);
    if (found === null || this.#objects.get(etag) !== object) return;
    object.bytes = found.length;
    this.#bytes += found.length;
    this.#evict();
  }

  #forget(etag: string, object: SharedObject): void {
    if (this.#objects.get(etag) === object) this.#objects.delete(etag);
  }

  #evict(): void {
    for (const [etag, { bytes }] of this.#objects) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#objects.delete(etag);
      this.#bytes -= bytes;
    }
  }
}
