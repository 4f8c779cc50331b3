/** Keeps one session of HTTP+SSE (2024-11-05) with a server: one stream for all its messages, and an address for those of the client. */
import { detach } from '../../detached.ts';
import { isObject } from '../../model/json/read-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { monotonicMs } from '../../monotonic.ts';
import { Call, CallCut, type CallRequest } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import { StreamEventReader } from '../messages/event-stream.ts';
import { PlaneFault, serverBrokeOff, serverUnusable } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { readShortMessage } from '../messages/server-json.ts';
import { chunksOf } from '../transfer/response-chunks.ts';
import { EventCall } from './event-call.ts';
import { endOf, MessageRouter } from './message-router.ts';

type Headers = Readonly<Record<string, string>>;

/** Bound of one message. */
const messageBytesMax = 8 * 1024 * 1024;
/** For the address of messages, and for the acceptance of one. */
const answerMs = 30_000;
const noTimeout = 0;
/** Headers of streamable HTTP, which such a server does not know. */
const foreignNames = ['mcp-session-id', 'mcp-protocol-version', 'last-event-id'];

/** The server has refused a request. */
export class EventRefusal extends Error {
  override name = 'EventRefusal';
  readonly status: number;
  readonly headers: Call['headers'];

  constructor({ status, headers }: Pick<Call, 'status' | 'headers'>) {
    super(`the server responds with ${status}`);
    this.status = status;
    this.headers = headers;
  }
}

export class EventSession {
  readonly url: URL;
  /** Monotonic clock, milliseconds. */
  usedAtMs = monotonicMs();
  readonly #origins: Pick<Origins, 'at'>;
  readonly #headers: Headers;
  readonly #stream: Call;
  readonly #endpoint = Promise.withResolvers<URL>();
  readonly #router = new MessageRouter();
  #hasEnded = false;
  #onEnd: () => void = () => {};

  /** @param headers of the stream, credentials included */
  constructor(origins: Pick<Origins, 'at'>, url: URL, headers: Headers) {
    this.url = url;
    this.#origins = origins;
    this.#headers = headers;
    this.#endpoint.promise.catch(() => undefined);
    const own = { ...ownHeaders(headers), accept: 'text/event-stream' };
    this.#stream = openRequest(
      origins,
      url,
      { method: 'GET', headers: own, body: null },
      noTimeout,
    );
    detach('the stream of an MCP server', this.#read());
  }

  get isIdle(): boolean {
    return this.#router.isIdle;
  }

  onEnd(action: () => void): void {
    this.#onEnd = action;
    if (this.#hasEnded) action();
  }

  /** Resolves when the server has named the address of messages. @throws EventRefusal @throws PlaneFault */
  async open(): Promise<void> {
    const tooLate = serverUnusable('it names no address for messages in time');
    const timer = setTimeout(() => this.end(tooLate), answerMs);
    await this.#endpoint.promise.finally(() => clearTimeout(timer));
  }

  /** Sends a message; the response to a request, and what belongs to it, go to the call. */
  async post(
    message: RpcObject,
    body: Buffer,
    headers: Headers,
    call: EventCall,
    responseHeaders: Headers,
  ): Promise<void> {
    this.#noteUse();
    const isRequest = isRequestMessage(message);
    call.onEnd(() => this.#noteUse());
    if (isRequest) await this.#router.register(message, call);
    try {
      await this.#deliver(body, headers, call);
    } catch (error) {
      if (!(error instanceof EventRefusal)) throw error;
      call.begin(error.status, passedHeaders(error));
      call.end(null);
      return;
    }
    if (isRequest) {
      // No session begins without its first response.
      if (message.method === 'initialize') await endOf(call);
      call.begin(200, { ...responseHeaders, 'content-type': 'text/event-stream' });
      return;
    }
    call.begin(202, {});
    call.end(null);
  }

  /** Sends messages that belong to no call; the last listener replaces the one before. */
  listen(call: EventCall): void {
    this.#router.listen(call);
    call.onEnd(() => this.#noteUse());
    call.begin(200, { 'content-type': 'text/event-stream' });
  }

  /** @param error of calls that have no response */
  end(error: Error = serverBrokeOff()): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#endpoint.reject(error);
    this.#stream.cut(new CallCut('the session ends'));
    this.#router.end(error);
    this.#onEnd();
  }

  #noteUse(): void {
    this.usedAtMs = monotonicMs();
  }

  /** @throws EventRefusal @throws PlaneFault */
  async #deliver(body: Buffer, headers: Headers, call: EventCall): Promise<void> {
    const endpoint = await this.#endpoint.promise;
    if (call.hasEnded) return;
    const own = { ...ownHeaders(headers), 'content-type': 'application/json', accept: '*/*' };
    const sent = openRequest(
      this.#origins,
      endpoint,
      { method: 'POST', headers: own, body },
      answerMs,
    );
    call.isSent = true;
    await sent.responseStarted;
    sent.pipe({ data: () => true, end: () => {}, fail: () => {} });
    if (sent.status >= 300) throw new EventRefusal(sent);
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    try {
      await readEvents(this.#stream, (name, data) => this.#take(name, data));
      this.end();
    } catch (error) {
      this.end(error as Error);
    }
  }

  #take(name: string, data: string): void {
    if (name === 'endpoint') {
      const endpoint = URL.parse(data.trim(), this.url.href);
      const isOwn = endpoint !== null && endpoint.origin === this.url.origin;
      if (!isOwn) {
        throw serverUnusable('it names an address for messages outside of its own origin');
      }
      this.#endpoint.resolve(endpoint);
      return;
    }
    const message = name === 'message' ? readShortMessage(data) : undefined;
    if (!isObject(message)) return;
    const lines = data.split(/\r\n|\n|\r/).map((line) => `data: ${line}\n`);
    const event = Buffer.from(`${lines.join('')}\n`);
    if (!this.#router.pass(message, event) && isRequestMessage(message)) this.#answer(message);
  }

  /** Answers a request of the server while no client listens; a failure shows at the next request. */
  #answer({ id, method }: RpcObject): void {
    const body = answerTo(id, method);
    const answer = new EventCall(answerMs);
    const sending = this.#deliver(body, this.#headers, answer).catch(() => undefined);
    detach(
      'an answer to an MCP server',
      sending.finally(() => answer.end(null)),
    );
  }
}

function isRequestMessage({ method, id }: RpcObject): boolean {
  return typeof method === 'string' && id !== undefined;
}

/** The answer to a request of the server that no client receives. */
function answerTo(id: unknown, method: unknown): Buffer {
  const own =
    method === 'ping'
      ? { result: {} }
      : { error: { code: -32601, message: `No client listens for ${String(method)}` } };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...own }));
}

function openRequest(
  origins: Pick<Origins, 'at'>,
  { origin, pathname, search }: URL,
  request: Pick<CallRequest, 'method' | 'headers' | 'body'>,
  silenceTimeoutMs: number,
): Call {
  const path = pathname + search;
  return new Call(origins.at(origin), { origin, path, ...request, silenceTimeoutMs });
}

/** Passes on the name and the data of each event. @throws EventRefusal @throws PlaneFault */
async function readEvents(stream: Call, take: (name: string, data: string) => void): Promise<void> {
  await stream.responseStarted;
  if (stream.status !== 200 || !isEventStream(stream.headers)) {
    stream.pipe({ data: () => true, end: () => {}, fail: () => {} });
    throw refusalOf(stream);
  }
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(stream)) {
    for (const { bytes, data } of reader.push(chunk)) {
      if (data !== null) take(nameOf(bytes), data);
    }
  }
}

function ownHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !foreignNames.includes(name)),
  );
}

function refusalOf(call: Call): Error {
  if (call.status >= 300) return new EventRefusal(call);
  return new PlaneFault(
    'server_unusable',
    'The MCP server cannot be used: its transport is sse, but it opens no stream of events; set transport to http',
  );
}

/** Only what callers may learn. */
function passedHeaders({ headers }: EventRefusal): Record<string, string> {
  const challenge = headers['www-authenticate'];
  return typeof challenge === 'string' ? { 'www-authenticate': challenge } : {};
}

function nameOf(event: Buffer): string {
  const [, name = 'message'] =
    /^event: ?([\w-]{1,64})\s*$/m.exec(event.toString('utf8', 0, 256)) ?? [];
  return name;
}
