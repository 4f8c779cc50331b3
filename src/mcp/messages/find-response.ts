/** Finds the response to one request in a body of JSON or of server-sent events. */

import { isObject } from '../../model/json/read-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { StreamEventReader } from './event-stream.ts';
import type { RpcObject } from './read-messages.ts';
import { readShortMessage } from './server-json.ts';

/** Reads a body chunk by chunk. */
export class ResponseFinder {
  readonly #id: string;
  readonly #bytesMax: number;
  readonly #reader: StreamEventReader | null;
  readonly #gathered: Buffer[] = [];
  #bytes = 0;

  constructor(contentType: string, id: string, bytesMax: number) {
    this.#id = id;
    this.#bytesMax = bytesMax;
    this.#reader = isEventStream({ 'content-type': contentType })
      ? new StreamEventReader(bytesMax)
      : null;
  }

  /** Whether the body is longer than what is read. */
  get isTooLong(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  /** The response, once the chunk of a stream completes it; null before. */
  push(chunk: Buffer): RpcObject | null {
    this.#bytes += chunk.length;
    if (this.isTooLong) return null;
    if (this.#reader === null) {
      this.#gathered.push(chunk);
      return null;
    }
    for (const { data } of this.#reader.push(chunk)) {
      const message = data === null ? null : readShortMessage(data);
      if (this.#isResponse(message)) return message as RpcObject;
    }
    return null;
  }

  /** The response in a complete body; null for none. An error may have no id. */
  end(): RpcObject | null {
    const message = readShortMessage(Buffer.concat(this.#gathered).toString('utf8'));
    if (!isObject(message)) return null;
    return 'error' in message || this.#isResponse(message) ? message : null;
  }

  #isResponse(message: unknown): boolean {
    return isObject(message) && message.method === undefined && message.id === this.#id;
  }
}
