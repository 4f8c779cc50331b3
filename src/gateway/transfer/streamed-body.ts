/** Knows a body that goes to a provider while it comes: once, bounded, and no faster than the provider takes it. */
import type { IncomingMessage } from 'node:http';
import type { StreamedRequestBody } from '../../upstream/call.ts';
import { GatewayError } from './gateway-error.ts';

/** What is shorter is read whole, and so can be sent again. */
const wholeBytesMax = 1024 * 1024;

export class StreamedBody implements StreamedRequestBody {
  readonly bytes: number | null;
  readonly #request: IncomingMessage;
  readonly #bytesMax: number;
  #isTaken = false;
  #isWhole = false;

  /** @throws GatewayError where it says that it is larger */
  constructor(request: IncomingMessage, bytesMax: number) {
    this.bytes = lengthOf(request);
    this.#request = request;
    this.#bytesMax = bytesMax;
    if ((this.bytes ?? 0) > bytesMax) throw tooLarge(bytesMax);
  }

  get isStarted(): boolean {
    return this.#isTaken;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    this.#isTaken = true;
    let bytes = 0;
    const coming = this.#request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const piece of coming) {
      bytes += piece.length;
      if (bytes > this.#bytesMax) throw tooLarge(this.#bytesMax);
      yield piece;
    }
    this.#isWhole = true;
  }
}

export function isShort(request: IncomingMessage): boolean {
  const bytes = lengthOf(request);
  return bytes !== null && bytes <= wholeBytesMax;
}

function lengthOf({ headers }: IncomingMessage): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError('body_too_large', `The body has more than ${bytesMax} bytes`);
}
