/** Finds the errors that a server reports, also in responses that pass to the caller unread. */
import { isObject } from '../../model/json/read-object.ts';
import { StreamEventReader } from './event-stream.ts';

/** An error of a tool in its result, or an error of the protocol with its code. */
export interface ServerError {
  readonly code: 'tool_error' | 'server_error';
  readonly rpcCode: number | null;
}

/** Null for a success. */
export function serverErrorOf({ error, result }: Readonly<Record<string, unknown>>) {
  if (isObject(error)) {
    const rpcCode = Number.isSafeInteger(error.code) ? (error.code as number) : null;
    return { code: 'server_error', rpcCode } satisfies ServerError;
  }
  const hasFailed = isObject(result) && result.isError === true;
  return hasFailed ? ({ code: 'tool_error', rpcCode: null } satisfies ServerError) : null;
}

/** Errors in longer responses stay unknown. */
const bytesMax = 256 * 1024;
/** Names of members without which a response reports no error. */
const markers = ['"error"', '"isError"'];

/** Retains the bytes of a relayed response, within bounds, to look for errors at its end. */
export class RelayedResponse {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  note(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= bytesMax) this.#chunks.push(chunk);
    else this.#chunks.length = 0;
  }

  /** The messages that may report an error. */
  suspects(isEvents: boolean): Readonly<Record<string, unknown>>[] {
    if (this.#bytes > bytesMax) return [];
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    if (!markers.some((marker) => bytes.includes(marker))) return [];
    const texts = isEvents
      ? [...new StreamEventReader(bytesMax).push(bytes)].map(({ data }) => data ?? '')
      : [bytes.toString('utf8')];
    return texts.flatMap(messagesIn).filter(isObject);
  }
}

/** None in a text that is no JSON. */
function messagesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)].flat();
  } catch {
    return [];
  }
}
