/** Calls servers of HTTP+SSE as if they spoke streamable HTTP: sessions of this process, found by their id. */
import { randomUUID } from 'node:crypto';
import { detach } from '../../detached.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { isObject, readJson } from '../../model/json/read-object.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { EventCall } from './event-call.ts';
import { EventRefusal, EventSession } from './event-session.ts';

/** A request in the form of streamable HTTP. */
export interface EventRequest {
  /** The caller, whose sessions are bounded. */
  readonly principal: string;
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Names in lower case; credentials and the session id included. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  readonly silenceTimeoutMs: number;
}

export interface EventSessionsOptions {
  readonly origins: Pick<Origins, 'at'>;
  /** Address at which other replicas reach this one. */
  readonly ownAddress: () => string;
  readonly sessionsMax?: number;
  readonly sessionsOfCallerMax?: number;
  readonly idleMs?: number;
}

interface OpenSession {
  readonly session: EventSession;
  readonly principal: string;
}

const idPrefix = 'sse|';
const sweepMs = 30_000;

export class EventSessions implements Disposable {
  readonly #options: Required<EventSessionsOptions>;
  readonly #open = new Map<string, OpenSession>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: EventSessionsOptions) {
    const bounds = { sessionsMax: 10_000, sessionsOfCallerMax: 100, idleMs: 30 * 60_000 };
    this.#options = { ...bounds, ...options };
    this.#timer = setInterval(() => this.#sweep(), sweepMs).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** The address of the replica that keeps a session open; null for this one, and for an id of another kind. */
  ownerOf(upstreamId: string): string | null {
    if (!upstreamId.startsWith(idPrefix)) return null;
    const owner = upstreamId.slice(idPrefix.length).split('|', 1)[0]!;
    return owner === this.#options.ownAddress() ? null : owner;
  }

  /** The response begins later, as that of any call. */
  call(request: EventRequest): EventCall {
    const call = new EventCall(request.silenceTimeoutMs);
    const serving = this.#serve(request, call).catch((error: Error) => call.end(error));
    detach('a request to an MCP server', serving);
    return call;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { session } of this.#open.values()) session.end();
  }

  async #serve(request: EventRequest, call: EventCall): Promise<void> {
    const { method, url, headers, body } = request;
    const id = headers['mcp-session-id'];
    const message = body === null ? null : readJson(body.toString('utf8'));
    if (method === 'POST' && !isObject(message)) {
      return refuse(call, 400, 'The MCP server receives no batches; send one message');
    }
    if (id === undefined) {
      const isOpening = isObject(message) && message.method === 'initialize';
      if (isOpening) return await this.#initialize(request, message, call);
      return refuse(call, 400, 'The MCP server needs a session; send initialize first');
    }
    const session = this.#open.get(id)?.session;
    if (session === undefined || session.url.href !== url.href) {
      session?.end();
      return refuse(call, 404, 'The session does not exist; initialize a new one');
    }
    if (method === 'GET') return session.listen(call);
    if (method === 'POST') {
      return await session.post(message as RpcObject, body!, headers, call, {});
    }
    session.end();
    call.begin(204, {});
    call.end(null);
  }

  async #initialize(
    { principal, url, headers, body }: EventRequest,
    message: RpcObject,
    call: EventCall,
  ): Promise<void> {
    this.#makeRoom(principal);
    const id = `${idPrefix}${this.#options.ownAddress()}|${randomUUID()}`;
    const session = new EventSession(this.#options.origins, url, headers);
    this.#open.set(id, { session, principal });
    session.onEnd(() => this.#open.delete(id));
    // A caller that leaves before it knows the id leaves no session behind.
    call.onEnd(() => {
      if (call.hasFailed) session.end();
    });
    try {
      await session.open();
    } catch (error) {
      if (!(error instanceof EventRefusal)) throw error;
      const challenge = error.headers['www-authenticate'];
      call.begin(
        error.status,
        typeof challenge === 'string' ? { 'www-authenticate': challenge } : {},
      );
      call.end(null);
      return;
    }
    await session.post(message, body!, headers, call, { 'mcp-session-id': id });
  }

  #makeRoom(principal: string): void {
    const { sessionsMax, sessionsOfCallerMax } = this.#options;
    const own = [...this.#open.values()].filter((one) => one.principal === principal);
    if (own.length >= sessionsOfCallerMax) endOldest(own);
    else if (this.#open.size >= sessionsMax) endOldest([...this.#open.values()]);
  }

  /** Ends sessions that nobody has used for long. */
  #sweep(): void {
    const before = monotonicMs() - this.#options.idleMs;
    for (const { session } of [...this.#open.values()]) {
      if (session.isIdle && session.usedAtMs < before) session.end();
    }
  }
}

function endOldest(sessions: readonly OpenSession[]): void {
  const [oldest] = sessions
    .filter(({ session }) => session.isIdle)
    .toSorted((one, other) => one.session.usedAtMs - other.session.usedAtMs);
  if (oldest === undefined) {
    const message = 'The gateway has reached its limit of sessions with MCP servers; try again';
    throw new GatewayError('unavailable', message);
  }
  oldest.session.end();
}

function refuse(call: EventCall, status: number, message: string): void {
  const error = { jsonrpc: '2.0', id: null, error: { code: -32600, message } };
  call.begin(status, { 'content-type': 'application/json' });
  call.push(Buffer.from(JSON.stringify(error)));
  call.end(null);
}
