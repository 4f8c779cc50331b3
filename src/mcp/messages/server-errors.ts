/** Finds the errors that a server reports, also in responses that pass to the caller unread. */
import { isObject } from '../../model/json/read-object.ts';
import { StreamEventReader } from './event-stream.ts';
import type { RpcId } from './plane-fault.ts';
import { idKey, type RpcObject } from './read-messages.ts';

/** An error of a tool in its result, or an error of the protocol with its code. */
export interface ServerError {
  readonly code: 'tool_error' | 'server_error';
  readonly rpcCode: number | null;
}

/** Null for a success. */
function serverErrorOf({ error, result }: RpcObject): ServerError | null {
  if (isObject(error)) {
    const rpcCode = Number.isSafeInteger(error.code) ? (error.code as number) : null;
    return { code: 'server_error', rpcCode };
  }
  const hasFailed = isObject(result) && result.isError === true;
  return hasFailed ? { code: 'tool_error', rpcCode: null } : null;
}

/** Errors in longer responses stay unknown. */
const bytesMax = 256 * 1024;
/** Names of members without which a response reports no error. */
const markers = ['"error"', '"isError"'];

interface AnsweredCall {
  readonly message: { readonly id: RpcId };
  /** Whether its error is of interest. */
  readonly isLogged: boolean;
  serverError: ServerError | null;
}

/** Notes the errors of calls. Bytes that are sent unread are retained, within bounds, and read at their end. */
export class ServerErrors {
  readonly #calls: readonly AnsweredCall[];
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(calls: readonly AnsweredCall[]) {
    this.#calls = calls;
  }

  note(message: RpcObject): void {
    const call = callAnswered(message, this.#calls);
    if (call !== undefined) call.serverError = serverErrorOf(message);
  }

  noteRelayed(chunk: Buffer): void {
    if (!this.#calls.some(({ isLogged }) => isLogged)) return;
    this.#bytes += chunk.length;
    if (this.#bytes <= bytesMax) this.#chunks.push(chunk);
    else this.#chunks.length = 0;
  }

  noteRelayedEnd(isEvents: boolean): void {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    if (!markers.some((marker) => bytes.includes(marker))) return;
    const texts = isEvents
      ? [...new StreamEventReader(bytesMax).push(bytes)].map(({ data }) => data ?? '')
      : [bytes.toString('utf8')];
    for (const message of texts.flatMap(messagesIn)) {
      if (isObject(message) && typeof message.method !== 'string') this.note(message);
    }
  }
}

/** An error without an id answers the only call. */
export function callAnswered<C extends Pick<AnsweredCall, 'message'>>(
  message: RpcObject,
  calls: readonly C[],
): C | undefined {
  const isNameless = (message.id ?? null) === null && 'error' in message;
  if (isNameless && calls.length === 1) return calls[0];
  const key = idKey(message.id);
  return calls.find((call) => call.message.id !== null && idKey(call.message.id) === key);
}

/** None in a text that is no JSON. */
function messagesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)].flat();
  } catch {
    return [];
  }
}
