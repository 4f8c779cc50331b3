/** Streams a request body to a provider while it arrives: once, bounded, and with backpressure. */
import type { IncomingMessage } from 'node:http';
import type { StreamedRequestBody } from '../../upstream/call.ts';
import { GatewayError } from './gateway-error.ts';

/** Shorter bodies are read completely, so that they can be sent again. */
const wholeBytesMax = 1024 * 1024;

export class StreamedBody implements StreamedRequestBody {
  readonly bytes: number | null;
  readonly #request: IncomingMessage;
  readonly #bytesMax: number;
  #isStarted = false;
  #isWhole = false;

  /** @throws GatewayError when the declared length exceeds the bound */
  constructor(request: IncomingMessage, bytesMax: number) {
    this.bytes = lengthOf(request);
    this.#request = request;
    this.#bytesMax = bytesMax;
    if ((this.bytes ?? 0) > bytesMax) throw tooLarge(bytesMax);
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    this.#isStarted = true;
    let bytes = 0;
    const chunks = this.#request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const piece of chunks) {
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
