/** Knows how the answer of a provider goes to the caller: its bytes as they are, no faster than the caller takes them. */
import { isAscii } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { Call, ProviderHeaders, Sink } from '../../upstream/call.ts';
import type { Caller } from './caller.ts';
import { GatewayError } from './gateway-error.ts';
import { linger } from './linger.ts';
import { hasTinyChunks } from './tiny-chunks.ts';

/** What the bytes of a stream go through on their way. */
export interface EventFilter {
  /** What of it goes to the caller. */
  pass(chunk: Buffer): Buffer;
  /** What goes to the caller when no more comes. */
  rest(): Buffer;
}

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Beside those of the provider, where an answer does not come whole: what is true of them then. */
  readonly headers: () => Record<string, string>;
  /** In place of the status of the provider; null where that stays. */
  readonly status: number | null;
  /** What follows the last event of a stream; null for nothing. */
  readonly trailer: Buffer | null;
  /** What the events of a stream go through; null where nobody looks at them. */
  readonly events: EventFilter | null;
  /** What headers of the gateway's own begin with; a provider's are held back. */
  readonly headerPrefix: string;
  /** A caller who takes nothing of its answer for so long is cut off. */
  readonly stalledMs: number;
  /** How long the rest of an answer is read whose caller has gone, to see what it used; 0 for not at all. */
  readonly lingerMs: number;
  /** Called when the first piece of a stream, or all of another answer, is there. */
  readonly onFirst: () => void;
  /** Other bytes are sent than come: of an answer that is no stream they can be made of all of it only. */
  readonly isRewritten: boolean;
  /**
   * Looks at an answer that came whole, before it is sent, with its text where that has been made; yields
   * what is sent of it and with it.
   *
   * @throws GatewayError where it cannot be sent
   */
  readonly onWhole: (body: Buffer, text: string | null) => WholeRelayResponse;
}

/** What is sent of an answer that came whole, and with it. */
interface WholeRelayResponse {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** How a relay ended. */
export type RelayEnd =
  | { readonly kind: 'whole' }
  /** The caller went before the end; `isRead` says that the answer was read to its end all the same. */
  | { readonly kind: 'left'; readonly isRead: boolean }
  /** The provider did not go on; what was sent by then cannot be taken back. */
  | { readonly kind: 'broken'; readonly error: Error; readonly isStarted: boolean };

/** Longer than a provider may be silent, so that nobody is cut off for what another does. */
export const stalledMs = 630_000;
/** Answers up to here are sent in one piece, which costs the least. */
const gatheredBytesMax = 4 * 1024 * 1024;
/** Longer ones cost more to copy than a second write does. */
const joinedBytesMax = 16 * 1024;
const nothing = Buffer.alloc(0);

/** Of the connection to the provider, or of no use behind us; what a browser keeps would be of the gateway's own site. */
const heldBack = new Set([
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

/** They say something of the bytes that came. */
const ofBytes = ['content-encoding', 'content-length', 'content-md5', 'content-digest', 'etag'];

/** Sends the answer that has begun; resolves when the last byte is on its way, or none will follow. */
export function relay(call: Call, options: RelayOptions): Promise<RelayEnd> {
  const { promise, resolve } = Promise.withResolvers<RelayEnd>();
  const one = new Relay(call, options, resolve);
  options.caller.onLeave(() => one.leave());
  one.begin();
  return promise;
}

class Relay implements Sink {
  readonly #call: Call;
  readonly #options: RelayOptions;
  readonly #end: (end: RelayEnd) => void;
  readonly #isStream: boolean;
  /** Null once pieces are sent as they come. */
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
      this.#writeHead();
      // A stream is worth its headers before its first event. Flushed, they would go out in UTF-8.
      this.#options.response.write(nothing);
    }
    this.#call.pipe(this);
  }

  /** The caller has gone. */
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
      // It is looked at where nobody takes it, too.
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
    // An answer that ends as if it were whole would be taken for one.
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

  /** Until there is too much of it to be kept. */
  #gather(chunk: Buffer): boolean {
    const gathered = this.#gathered!;
    gathered.push(chunk);
    this.#gatheredBytes += chunk.length;
    const isTooMuch =
      this.#gatheredBytes > gatheredBytesMax || hasTinyChunks(gathered.length, this.#gatheredBytes);
    if (!isTooMuch) return true;
    if (this.#options.isRewritten) {
      const message = `The answer of the provider has more than ${gatheredBytesMax} bytes, or comes in crumbs`;
      this.#call.cut(new GatewayError('answer_not_translatable', message));
      return true;
    }
    this.#gathered = null;
    this.#options.onFirst();
    if (this.#hasLeft) return true;
    this.#writeHead();
    return this.#options.response.write(Buffer.concat(gathered));
  }

  #writeHead(): void {
    const { response, headers, events, status } = this.#options;
    const all = this.#headers(headers());
    // What goes through something may come out longer or shorter.
    if (events !== null) delete all['content-length'];
    response.writeHead(status ?? this.#call.status, all);
    response.on('drain', () => this.#call.resume());
    this.#watchCaller();
  }

  /** It ends when the answer does, with the time that the connection is kept. */
  #watchCaller(): void {
    const { response, stalledMs } = this.#options;
    response.socket?.setTimeout(stalledMs);
  }

  /** Whether there is something to send. */
  #sendWhole(gathered: readonly Buffer[]): boolean {
    const { response, onWhole } = this.#options;
    const { status } = this.#call;
    const came = gathered.length === 1 ? gathered[0]! : Buffer.concat(gathered);
    const text = came.length <= joinedBytesMax ? asciiOf(came) : null;
    let told: WholeRelayResponse;
    try {
      told = onWhole(came, text);
    } catch (thrown) {
      this.fail(thrown as Error);
      return false;
    }
    if (this.#hasLeft) return true;
    const all = this.#headers(told.headers);
    // One that asks for the head only is told of a length that it does not get.
    if (response.req.method !== 'HEAD' && status !== 204 && status !== 304) {
      all['content-length'] = String(told.body.length);
    }
    response.writeHead(status, all);
    endWith(response, told.body, told.body === came ? text : null);
    // Most callers have taken all of it by now.
    if (response.writableLength > 0) this.#watchCaller();
    return true;
  }

  #headers(ours: Record<string, string>): ReturnType<typeof passedHeaders> {
    const headers = passedHeaders(this.#call.headers, ours, this.#options.headerPrefix);
    if (this.#options.isRewritten) for (const name of ofBytes) delete headers[name];
    // Who reads on for what such an answer cannot have takes the next one for it.
    if (this.#call.status === 204) delete headers['content-length'];
    return headers;
  }
}

/** As a text it goes out with the head, in one write of the system; each byte is a letter of Latin-1. */
function endWith(response: ServerResponse, body: Buffer, text: string | null): void {
  if (body.length > joinedBytesMax) response.end(body);
  else response.end(text ?? body.toString('latin1'), 'latin1');
}

/** One text for who reads it and for sending it, as it is the same in all codings; null for any other. */
function asciiOf(bytes: Buffer): string | null {
  return isAscii(bytes) ? bytes.toString('latin1') : null;
}

export function isEventStream(headers: ProviderHeaders): boolean {
  const type = headers['content-type'];
  return typeof type === 'string' && /^text\/event-stream/i.test(type);
}

/**
 * Puts those of the provider that mean something to the caller beside `ours`, which count before them;
 * such as begin with `prefix` are ours only.
 */
export function passedHeaders(
  given: ProviderHeaders,
  ours: Record<string, string>,
  prefix: string,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = ours;
  const ofConnection = namesIn(given.connection);
  for (const name in given) {
    const value = given[name];
    if (value === undefined || heldBack.has(name) || Object.hasOwn(headers, name)) continue;
    if (ofConnection?.has(name)) continue;
    if (!name.startsWith(prefix) && !name.startsWith('x-gateway-')) headers[name] = value;
  }
  return headers;
}

/** Headers that are of the connection since its header says so, save those that tell of the content. */
function namesIn(connection: string | string[] | undefined): ReadonlySet<string> | null {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close')
    return null;
  const names = String(connection).toLowerCase().split(',');
  return new Set(names.map((name) => name.trim()).filter((name) => !name.startsWith('content-')));
}
