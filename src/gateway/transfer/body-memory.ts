/** Bounds the bytes of all request bodies that the process holds in memory, and the share of each key. */
import { BodyHold } from '../../http/input/body-hold.ts';
import { GatewayError } from './gateway-error.ts';

/** The bodies of one key may take this part of the total. */
const keyShare = 1 / 2;

export class BodyMemory {
  readonly #bytesMax: number;
  readonly #keyBytesMax: number;
  /** Bodies in messages. */
  readonly #what: string;
  readonly #byKey = new Map<string, number>();
  #bytes = 0;

  /** One body of `bodyBytesMax` always fits into an empty share. */
  constructor(bytesMax: number, bodyBytesMax: number, what = 'request bodies') {
    this.#what = what;
    this.#bytesMax = Math.max(bytesMax, bodyBytesMax);
    this.#keyBytesMax = Math.max(Math.floor(this.#bytesMax * keyShare), bodyBytesMax);
  }

  /** Bytes of all bodies that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Begins to count the body of a request of this key, which throws GatewayError 503 when there is no room. */
  hold(keyId: string): BodyHold {
    return new BodyHold((bytes) => this.#take(keyId, bytes));
  }

  /** A negative number releases. Throws before it counts anything. */
  #take(keyId: string, bytes: number): void {
    const ofKey = (this.#byKey.get(keyId) ?? 0) + bytes;
    if (bytes > 0 && ofKey > this.#keyBytesMax) throw this.#exhausted('this API key');
    if (bytes > 0 && this.#bytes + bytes > this.#bytesMax) throw this.#exhausted('all callers');
    this.#bytes += bytes;
    if (ofKey === 0) this.#byKey.delete(keyId);
    else this.#byKey.set(keyId, ofKey);
  }

  #exhausted(whose: string): GatewayError {
    const message = `The ${this.#what} of ${whose} take all the memory that they may take; try again`;
    return new GatewayError('unavailable', message);
  }
}
