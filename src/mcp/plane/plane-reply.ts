/** Sends the gateway's own errors to the caller of an MCP request, settles its calls and logs them. */
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { RequestTurns } from '../../gateway/transfer/turn-batches.ts';
import { endAbruptly, writeResponseHead } from '../../http/responses/response-head.ts';
import { LimitReached } from '../../ledger/limit.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { Call } from '../../upstream/call.ts';
import { PlaneFault, type RpcFault, type RpcId, rpcErrorMessage } from '../messages/plane-fault.ts';
import type { McpTrace } from '../telemetry/mcp-trace.ts';
import { readRequestId } from '../transfer/request-id.ts';
import { logRequest } from './log-request.ts';
import type { PlaneCall } from './plane-call.ts';
import type { PlaneServer } from './plane-server.ts';
import type { McpArrival, PlaneServices } from './plane-services.ts';

/** An error as HTTP and JSON-RPC report it. */
interface ReplyFault extends RpcFault {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Null for an error that no rule foresees. */
export function rpcFaultOf(
  { isUnavailable, now, resource }: Pick<PlaneServices, 'isUnavailable' | 'now' | 'resource'>,
  thrown: unknown,
  slug: string | null,
): ReplyFault | null {
  if (thrown instanceof PlaneFault) return thrown;
  const error = isUnavailable(thrown)
    ? new GatewayError('unavailable', 'The gateway cannot reach its database; try again')
    : thrown;
  if (!(error instanceof GatewayError)) return null;
  const { code, message } = error;
  const retryAfterMs = error.retryAfterMs ?? resetMs(error, now());
  // MCP clients know 429 only; a budget that is used up has no other meaning for them.
  const status = code === 'usage_limit_exceeded' ? 429 : error.status;
  const headers: Record<string, string> = {};
  if (retryAfterMs !== null) headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000));
  const challenge = challengeErrorOf(error, status);
  if (challenge !== undefined) headers['www-authenticate'] = resource.challenge(challenge, slug);
  return { code, message, status, headers, rpcCode: -32000, data: {} };
}

/** Time until a budget begins anew; null for any other error. */
function resetMs({ cause }: GatewayError, now: number): number | null {
  if (!(cause instanceof LimitReached) || cause.limit.endsAt === null) return null;
  return Math.max(1, cause.limit.endsAt - now);
}

/** Null without a credential, undefined for an error that another credential does not change. */
function challengeErrorOf({ code, refused }: GatewayError, status: number) {
  if (code === 'scope_missing') return 'insufficient_scope';
  if (status !== 401) return undefined;
  return code === 'invalid_api_key' && refused === null ? null : 'invalid_token';
}

export class PlaneReply {
  readonly #services: PlaneServices;
  readonly #arrival: McpArrival;
  key: GatewayKey | null = null;
  server: PlaneServer | null = null;
  metadata: Metadata = {};
  /** Null while the message is not read, and for requests that are not sampled. */
  trace: McpTrace | null = null;
  #call: Pick<Call, 'isSent'> | null = null;
  /** Monotonic clock, milliseconds; null before the call of the server. */
  #sentMs: number | null = null;
  isStream = false;
  #calls: readonly PlaneCall[] = [];
  #isBatch = false;
  /** Lets the request take its steps together with others. */
  readonly turns = new RequestTurns();

  constructor(services: PlaneServices, arrival: McpArrival) {
    this.#services = services;
    this.#arrival = arrival;
  }

  /** The call of the server; null before. */
  get call(): Pick<Call, 'isSent'> | null {
    return this.#call;
  }

  set call(call: Pick<Call, 'isSent'> | null) {
    this.#call = call;
    this.#sentMs ??= monotonicMs();
  }

  setCalls(calls: readonly PlaneCall[], isBatch: boolean): void {
    this.#calls = calls;
    this.#isBatch = isBatch;
  }

  /** Whether any call has been refused, so that nothing is sent. */
  get isRefused(): boolean {
    return this.#calls.some(({ fault }) => fault !== null);
  }

  /** Responds with the faults of the calls. The others of a batch are not sent either. */
  refuse(): void {
    const refused = this.#calls.find(({ fault }) => fault !== null)!;
    const first = refused.fault as ReplyFault;
    if (!this.#isBatch) {
      this.#send(first, rpcErrorMessage(first, refused.message.id));
      return;
    }
    const text = 'Not sent, because another message of the batch was refused';
    const others = new PlaneFault('not_sent', text);
    const messages = this.#calls
      .filter(({ message }) => message.kind === 'request')
      .map((call) => {
        call.fault ??= others;
        return rpcErrorMessage(call.fault, call.message.id);
      });
    this.#send({ ...first, status: 200, headers: first.headers }, messages);
  }

  /** Responds to an error; never throws. */
  async fail(thrown: unknown): Promise<void> {
    const { response, id, slug } = this.#arrival;
    try {
      const fault = rpcFaultOf(this.#services, thrown, slug) ?? this.#unexpected(thrown);
      for (const call of this.#calls) call.fault ??= fault;
      this.#noteRefused(thrown);
      if (response.headersSent || response.destroyed) response.destroy();
      else await this.#sendFault(fault);
    } catch (unexpected) {
      this.#services.onFault(unexpected, id);
      endAbruptly(response);
    }
  }

  /** Charges calls that the server may have received, and uncounts the others. */
  settle(): void {
    const isSent = this.call?.isSent === true;
    for (const { reserved } of this.#calls) {
      if (isSent) reserved?.settle();
      else reserved?.undo();
    }
  }

  log(): void {
    this.turns.leave();
    const { key, server, metadata, isStream, trace } = this;
    const calls = this.#calls;
    const sentMs = this.#sentMs;
    const finished = { key, server, metadata, isStream, trace, calls, sentMs };
    logRequest(this.#services, this.#arrival, finished);
  }

  async #sendFault(fault: ReplyFault): Promise<void> {
    const requests = this.#calls.filter(({ message }) => message.kind === 'request');
    if (this.#isBatch) {
      const messages = requests.map(({ message }) => rpcErrorMessage(fault, message.id));
      this.#send(fault, messages.length === 0 ? rpcErrorMessage(fault, null) : messages);
      return;
    }
    const known = requests[0]?.message.id;
    const id: RpcId = known ?? (await readRequestId(this.#arrival.request));
    this.#send(fault, rpcErrorMessage(fault, id));
  }

  #send({ status, headers }: ReplyFault, body: unknown): void {
    const { request, response, id } = this.#arrival;
    const text = JSON.stringify(body);
    // The rest of an unread body cannot be told from the next request.
    if (!request.complete) response.shouldKeepAlive = false;
    writeResponseHead(response, status, {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      'x-gateway-trace-id': id,
      ...headers,
    });
    response.end(text);
  }

  #unexpected(thrown: unknown): ReplyFault {
    const { response, id } = this.#arrival;
    if (!response.destroyed && !response.headersSent) this.#services.onFault(thrown, id);
    const message = 'The gateway failed unexpectedly';
    return {
      code: 'internal_error',
      message,
      status: 500,
      headers: {},
      rpcCode: -32603,
      data: {},
    };
  }

  #noteRefused(thrown: unknown): void {
    if (!(thrown instanceof GatewayError) || thrown.refused === null) return;
    const { socket } = this.#arrival.request;
    this.#services.onRefused(thrown.refused, socket.remoteAddress ?? '');
  }
}
