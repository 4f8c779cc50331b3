/** Holds a session of the legacy era with a server, for one caller and one call at a time, and ends it. */
import { setTimeout as delay } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import { isObject } from '../../model/json/read-object.ts';
import { CallCut } from '../../upstream/call.ts';
import { serverBrokeOff, serverFailed } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ResponseReading } from '../transfer/read-response.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import {
  dropResponse,
  type LegacyTransport,
  type MessageSink,
  readResponse,
  requireResponse,
  type StreamPosition,
  startOfStream,
} from './legacy-transport.ts';

/** For requests that a server answers at once. */
export const shortMs = 30_000;
/** Some servers send the head of a stream with its first event, for which a call does not wait. */
const streamHeadMs = 500;
/** Bounds what a stopping process waits for. */
const endMs = 2_000;
const noTimeout = 0;

export class ServerSession {
  /** The server's answer to `initialize`. */
  readonly initialized: RpcObject;
  /** Begins to read one response, whose messages count in the memory until it is released. */
  readonly beginReading: () => ResponseReading;
  readonly #transport: LegacyTransport;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #sending = new Set<Promise<void>>();
  #requests = 0;
  #stream: ServerCall | null = null;
  #hasNoStream = false;
  #hasEnded = false;
  /** Receives the messages of the current call. */
  #receiver: MessageSink | null = null;

  /** @param headers with which the server recognises the session */
  constructor(
    transport: LegacyTransport,
    initialized: RpcObject,
    headers: Readonly<Record<string, string>>,
  ) {
    this.#transport = transport;
    this.beginReading = () => transport.beginReading();
    this.initialized = initialized;
    this.#headers = headers;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Capabilities that the server has declared. */
  get capabilities(): RpcObject {
    return capabilitiesOf(this.initialized);
  }

  nextId(): string {
    this.#requests += 1;
    return `gatewright-${this.#requests}`;
  }

  /** Sends a request whose response the caller reads. */
  post(message: RpcObject, silenceTimeoutMs: number): ServerCall {
    return this.#transport.send('POST', this.#headers, message, silenceTimeoutMs);
  }

  /** Sends a notification or a response. @throws PlaneFault @throws SessionLost */
  async send(message: RpcObject): Promise<void> {
    const call = this.post(message, shortMs);
    await requireResponse(call);
    const { status } = call;
    dropResponse(call);
    if (status >= 400) {
      throw serverFailed(status);
    }
  }

  /** Sends a request that the server answers at once, and returns the response. @throws PlaneFault @throws SessionLost */
  async ask(method: string, params: RpcObject): Promise<RpcObject> {
    const id = this.nextId();
    const call = this.post({ jsonrpc: '2.0', id, method, params }, shortMs);
    return await oneResponse(call, id, this.beginReading());
  }

  /** Answers a request of the server that no caller sees. */
  answer(request: RpcObject): void {
    this.sendDetached(ownAnswer(request));
  }

  /** Sends a message without waiting; a failure shows at the next request. */
  sendDetached(message: RpcObject): void {
    if (this.#hasEnded) return;
    const sending = this.send(message).catch(() => undefined);
    this.#sending.add(sending);
    detach(
      'a message to an MCP server',
      sending.finally(() => this.#sending.delete(sending)),
    );
  }

  /** Messages go to the receiver until it is replaced; those without one are answered or dropped. */
  receiveWith(receiver: MessageSink | null): void {
    this.#receiver = receiver;
  }

  /** Takes a message of the server. */
  async take(message: RpcObject, bytes: number): Promise<void> {
    const isRequest = typeof message.method === 'string' && message.id !== undefined;
    if (isRequest && (message.method === 'ping' || this.#receiver === null)) this.answer(message);
    else await this.#receiver?.(message, bytes);
  }

  /** Continues a stream that the server has ended before its response. */
  resume(lastEventId: string): ServerCall {
    const headers = { ...this.#headers, 'last-event-id': lastEventId };
    return this.#transport.send('GET', headers, null, noTimeout);
  }

  /** Opens the stream of the session unless it is open; servers send some questions and log messages there only. */
  async openStream(): Promise<void> {
    if (this.#stream !== null || this.#hasNoStream || this.#hasEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, streamHeadMs);
    const followed = this.follow(startOfStream(), resolve).catch(() => undefined);
    detach('the stream of an MCP server', followed.finally(resolve));
    await promise;
    clearTimeout(timer);
  }

  /**
   * Reads the stream of the session until the server ends it. False when the server has none.
   *
   * @param onOpen called when the stream is open @throws PlaneFault @throws SessionLost
   */
  async follow(position: StreamPosition, onOpen: () => void): Promise<boolean> {
    const { lastEventId } = position;
    const from: Record<string, string> =
      lastEventId === null ? {} : { 'last-event-id': lastEventId };
    const call = this.#transport.send('GET', { ...this.#headers, ...from }, null, noTimeout);
    this.#stream = call;
    try {
      await requireResponse(call);
      if (call.status !== 200) {
        dropResponse(call);
        this.#hasNoStream = true;
        return false;
      }
      onOpen();
      const sink: MessageSink = (message, bytes) => this.take(message, bytes);
      await readResponse(call, sink, position, this.beginReading());
      return true;
    } finally {
      if (this.#stream === call) this.#stream = null;
    }
  }

  /** Ends the session at the server too; never rejects. */
  async end(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#receiver = null;
    this.#stream?.cut(new CallCut('the session ends'));
    // The server must not lose the session before the last messages.
    await Promise.race([Promise.all(this.#sending), delay(endMs, undefined, { ref: false })]);
    if (this.#headers['mcp-session-id'] === undefined) return;
    const call = this.#transport.send('DELETE', this.#headers, null, endMs);
    // Servers need not support the end of sessions.
    await call.responseStarted.then(() => dropResponse(call)).catch(() => undefined);
  }
}

function ownAnswer({ id, method }: RpcObject): RpcObject {
  const own =
    method === 'ping'
      ? { result: {} }
      : { error: { code: -32601, message: `The client does not support ${method}` } };
  return { jsonrpc: '2.0', id, ...own };
}

/** Reads the one response to a request. @throws PlaneFault @throws SessionLost */
export async function oneResponse(
  call: ServerCall,
  id: string,
  reading: ResponseReading,
): Promise<RpcObject> {
  await requireResponse(call);
  let found: RpcObject | null = null;
  const sink: MessageSink = async (message) => {
    const isOwn = message.method === undefined && (message.id === id || message.id === null);
    if (!isOwn || found !== null) return;
    found = message;
    call.cut(new CallCut('the rest of the response is not needed'));
  };
  try {
    await readResponse(call, sink, startOfStream(), reading);
  } catch (error) {
    if (found === null) throw error;
  }
  if (found !== null) return found;
  throw serverBrokeOff();
}

function capabilitiesOf({ capabilities }: RpcObject): RpcObject {
  return isObject(capabilities) ? capabilities : {};
}
