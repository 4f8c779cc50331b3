/** Relays the response of a provider to the caller, with backpressure. */

import { isAscii } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import { endWith, joinedBytesMax } from '../../http/responses/end-response.ts';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import type { Call, ProviderHeaders, Sink } from '../../upstream/call.ts';
import type { Caller } from './caller.ts';
import { GatewayError } from './gateway-error.ts';
import { linger } from './linger.ts';
import { hasTinyChunks } from './tiny-chunks.ts';

/** Transforms the bytes of a stream. */
export interface EventFilter {
  /** Returns the bytes for the caller. */
  pass(chunk: Buffer): Buffer;
  /** Returns the last bytes for the caller at the end of the stream. */
  rest(): Buffer;
}

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Builds the gateway's headers for a response that is not sent as a whole. */
  readonly headers: () => Record<string, string>;
  /** Replaces the status of a streamed response; null keeps it. */
  readonly status: number | null;
  /** Bytes after the last event of a stream; null for none. */
  readonly trailer: Buffer | null;
  /** Filter for the events of a stream; null for none. */
  readonly events: EventFilter | null;
  /** Prefix of the gateway's headers; headers of the provider with this prefix are dropped. */
  readonly headerPrefix: string;
  /** A caller that reads nothing for this time is disconnected. */
  readonly stalledMs: number;
  /** How long the response is read after the caller has gone, to meter it; 0 cuts it at once. */
  readonly lingerMs: number;
  /** Called with the first chunk of a stream, or when another response is complete. */
  readonly onFirst: () => void;
  /** Whether the body is rewritten, which needs the complete body unless it is a stream. */
  readonly isRewritten: boolean;
  /**
   * Called with a complete response before it is sent, and with its text if already decoded. Returns what is sent.
   *
   * @throws GatewayError when it cannot be sent
   */
  readonly onWhole: (body: Buffer, text: string | null) => WholeRelayResponse;
}

interface WholeRelayResponse {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export type RelayEnd =
  | { readonly kind: 'whole' }
  /** The caller left before the end; `isRead` if the response was still read completely. */
  | { readonly kind: 'left'; readonly isRead: boolean }
  /** The provider broke off; bytes that were already sent cannot be taken back. */
  | { readonly kind: 'broken'; readonly error: Error; readonly isStarted: boolean };

/** Longer than the silence timeout of providers, so that a slow provider does not disconnect the caller. */
export const stalledMs = 630_000;
/** Responses up to this size are sent as a whole, which is cheapest. */
const gatheredBytesMax = 4 * 1024 * 1024;
const nothing = Buffer.alloc(0);

/** Headers that concern the connection to the provider, or that a browser would apply to the gateway's own site. */
const droppedHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'alt-svc',
  'strict-transport-security',
  'proxy-authentication-info',
]);

/** Headers that describe the received bytes. */
const bodyHeaders = ['content-encoding', 'content-length', 'content-md5', 'content-digest', 'etag'];

/** Returns the headers of a response whose body is replaced. */
export function withoutBodyHeaders(headers: ProviderHeaders): ProviderHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !bodyHeaders.includes(name)),
  );
}

/** Resolves when the last byte has been written, or when no more will follow. */
export function relay(call: Call, options: RelayOptions): Promise<RelayEnd> {
  const { promise, resolve } = Promise.withResolvers<RelayEnd>();
  const instance = new Relay(call, options, resolve);
  options.caller.onLeave(() => instance.leave());
  instance.begin();
  return promise;
}

class Relay implements Sink {
  readonly #call: Call;
  readonly #options: RelayOptions;
  readonly #end: (end: RelayEnd) => void;
  readonly #isStream: boolean;
  /** Null once chunks are sent as they arrive. */
  #gathered: Buffer[] | null;
  #gatheredBytes = 0;
  #isFirst = true;
  #hasLeft = false;
  #lingering: NodeJS.Timeout | null = null;

  constructor(call: Call, options: RelayOptions, end: (end: RelayEnd) => void) {
    this.#call = call;
    this.#options = options;
    this.#end = end;
    this.#isStream = isEventStream(call.headers);
    this.#gathered = this.#isStream ? null : [];
  }

  begin(): void {
    if (this.#isStream && !this.#hasLeft) {
      this.#sendHead();
      // Sends the head of a stream before its first event; flushHeaders would encode it in UTF-8.
      this.#options.response.write(nothing);
    }
    this.#call.pipe(this);
  }

  /** Called when the caller has gone. */
  leave(): void {
    this.#hasLeft = true;
    this.#lingering = linger(this.#call, this.#options.lingerMs);
    if (this.#lingering !== null) this.#call.resume();
  }

  data(chunk: Buffer): boolean {
    const { events, onFirst, response } = this.#options;
    if (this.#isFirst && this.#isStream) onFirst();
    this.#isFirst = false;
    if (this.#gathered !== null) return this.#gather(chunk);
    const passed = events === null ? chunk : events.pass(chunk);
    return this.#hasLeft || passed.length === 0 || response.write(passed);
  }

  end(): void {
    const { events, response, trailer } = this.#options;
    if (this.#gathered !== null) {
      if (!this.#sendWhole(this.#gathered)) return;
    } else {
      // The rest is metered even after the caller has gone.
      const rest = events?.rest() ?? nothing;
      if (!this.#hasLeft) {
        if (rest.length > 0) response.write(rest);
        response.end(trailer ?? undefined);
      }
    }
    this.#finish(this.#hasLeft ? { kind: 'left', isRead: true } : { kind: 'whole' });
  }

  fail(error: Error): void {
    const { response } = this.#options;
    const isStarted = response.headersSent;
    // A regular end would make the response look complete.
    if (isStarted && !this.#hasLeft) response.destroy();
    this.#finish(
      this.#hasLeft ? { kind: 'left', isRead: false } : { kind: 'broken', error, isStarted },
    );
  }

  #finish(end: RelayEnd): void {
    const { caller, onFirst } = this.#options;
    if (this.#lingering !== null) clearTimeout(this.#lingering);
    caller.onLeave(null);
    onFirst();
    this.#end(end);
  }

  /** Collects chunks until there are too many to send as a whole. */
  #gather(chunk: Buffer): boolean {
    const gathered = this.#gathered!;
    gathered.push(chunk);
    this.#gatheredBytes += chunk.length;
    const isTooLarge =
      this.#gatheredBytes > gatheredBytesMax || hasTinyChunks(gathered.length, this.#gatheredBytes);
    if (!isTooLarge) return true;
    if (this.#options.isRewritten) {
      const message = `The response of the provider has more than ${gatheredBytesMax} bytes or too many small chunks`;
      this.#call.cut(new GatewayError('answer_not_translatable', message));
      return true;
    }
    this.#gathered = null;
    this.#options.onFirst();
    if (this.#hasLeft) return true;
    this.#sendHead();
    return this.#options.response.write(Buffer.concat(gathered));
  }

  #sendHead(): void {
    const { response, headers, events, status } = this.#options;
    const all = this.#headers(headers());
    // A filter may change the length.
    if (events !== null) delete all['content-length'];
    writeResponseHead(response, status ?? this.#call.status, all);
    response.on('drain', () => this.#call.resume());
    this.#watchCaller();
  }

  /** Node resets this timeout to the keep-alive time when the response ends. */
  #watchCaller(): void {
    const { response, stalledMs } = this.#options;
    response.socket?.setTimeout(stalledMs);
  }

  /** False when sending failed. */
  #sendWhole(gathered: readonly Buffer[]): boolean {
    const { response, onWhole } = this.#options;
    const { status } = this.#call;
    const received = gathered.length === 1 ? gathered[0]! : Buffer.concat(gathered);
    const text = received.length <= joinedBytesMax ? asciiOf(received) : null;
    let whole: WholeRelayResponse;
    try {
      whole = onWhole(received, text);
    } catch (thrown) {
      this.fail(thrown as Error);
      return false;
    }
    if (this.#hasLeft) return true;
    const all = this.#headers(whole.headers);
    // The length header of a HEAD response must stay that of the provider.
    if (response.req.method !== 'HEAD' && status !== 204 && status !== 304) {
      all['content-length'] = String(whole.body.length);
    }
    writeResponseHead(response, status, all);
    endWith(response, whole.body, whole.body === received ? text : null);
    // The socket usually has taken everything by now.
    if (response.writableLength > 0) this.#watchCaller();
    return true;
  }

  #headers(own: Record<string, string>): ReturnType<typeof passedHeaders> {
    const headers = passedHeaders(this.#call.headers, own, this.#options.headerPrefix);
    if (this.#options.isRewritten) for (const name of bodyHeaders) delete headers[name];
    // A body length on 204 would make clients take the next response for the body.
    if (this.#call.status === 204) delete headers['content-length'];
    return headers;
  }
}

/** Decodes ASCII once, for reading and for sending, because it is the same in all encodings; null otherwise. */
function asciiOf(bytes: Buffer): string | null {
  return isAscii(bytes) ? bytes.toString('latin1') : null;
}

/**
 * Adds the headers of the provider that concern the caller to `own`, which take precedence. Headers with `prefix`
 * are dropped because only the gateway may send them.
 */
export function passedHeaders(
  received: ProviderHeaders,
  own: Record<string, string>,
  prefix: string,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = own;
  const connectionNames = namesIn(received.connection);
  for (const name in received) {
    const value = received[name];
    if (value === undefined || droppedHeaders.has(name) || Object.hasOwn(headers, name)) continue;
    if (connectionNames?.has(name)) continue;
    if (!name.startsWith(prefix) && !name.startsWith('x-gateway-')) headers[name] = value;
  }
  return headers;
}

/** Names that the `connection` header lists, except content headers. */
function namesIn(connection: string | string[] | undefined): ReadonlySet<string> | null {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close')
    return null;
  const names = String(connection).toLowerCase().split(',');
  return new Set(names.map((name) => name.trim()).filter((name) => !name.startsWith('content-')));
}
