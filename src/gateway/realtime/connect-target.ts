/** Connects a session to one target of its config, and waits for the first event of the provider. */
import type { WebSocket } from 'ws';
import type { Account } from '../../ledger/ledger.ts';
import type { UsageBound } from '../../ledger/limit.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { openProviderSocket, SocketRefused } from '../../upstream/provider-socket.ts';
import type { Exchange } from '../callers/exchange.ts';
import { localOutcome, type TargetOutcome } from '../calls/outcome.ts';
import type { GatewayServices } from '../calls/request-context.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import { limitRefusalOf } from '../metering/admit.ts';
import { noUsage } from '../metering/meter.ts';
import { authorizedCall } from '../targets/authorized-call.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { SocketMessage } from './event-queue.ts';
import { firstMessage, firstMessageMs } from './first-message.ts';
import type { PreparedTarget, RealtimeForm } from './realtime-form.ts';
import { SessionTerms } from './session-terms.ts';

/** A connection to the provider, which is not read until the session starts. */
export interface ConnectedTarget {
  readonly terms: SessionTerms;
  readonly prepared: PreparedTarget;
  readonly socket: WebSocket;
  readonly first: SocketMessage;
}

export interface ConnectOptions {
  readonly services: GatewayServices;
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  /** Counts the session once, whichever target is connected. */
  readonly account: Account;
  readonly messageBytesMax: number;
  readonly form: RealtimeForm;
  /** Null when the session is not traced. */
  readonly trace: RequestTrace | null;
  readonly onConnected: (connected: ConnectedTarget) => void;
}

/** A session itself uses nothing but its place. */
const noUse: UsageBound = {
  inputTokens: 0,
  likelyInputTokens: 0,
  outputTokens: 0,
  outputTokensMin: 0,
  price: null,
};
/** Headers of plain requests. */
const requestHeaders: ReadonlySet<string> = new Set(['content-type', 'content-length', 'accept']);

/** @throws GatewayError when the target cannot be called or a limit refuses the session */
export async function connectTarget(
  leaf: ConfigLeaf,
  options: ConnectOptions,
): Promise<TargetOutcome> {
  const { services, exchange, config, account, form, onConnected } = options;
  const terms = await SessionTerms.resolve(services, exchange, config, leaf);
  const { target } = terms;
  const limits = await terms.limitsAt(exchange.now);
  try {
    await account.admit(
      limits.filter(({ type }) => type === 'requests'),
      noUse,
    );
  } catch (thrown) {
    throw limitRefusalOf(thrown, exchange.now);
  }
  const prepared = await form.prepare(terms);
  const connected = await connect(terms, prepared, options);
  if ('error' in connected) {
    prepared.release();
    return failed(target, connected);
  }
  onConnected(connected);
  const response = {
    status: 200,
    headers: {},
    body: Buffer.alloc(0),
    metered: noUsage,
    cost: null,
    providerStatus: 200,
  };
  return localOutcome(target, response);
}

interface FailedConnection {
  /** Status of the provider, or of the error. */
  readonly status: number;
  readonly error: GatewayError;
}

async function connect(
  terms: SessionTerms,
  prepared: PreparedTarget,
  { services, messageBytesMax, trace, form }: ConnectOptions,
): Promise<ConnectedTarget | FailedConnection> {
  const { target, leaf } = terms;
  const timeoutMs = leaf.settings.requestTimeoutMs ?? firstMessageMs;
  const span = trace?.begin(target) ?? null;
  let socket: WebSocket | null = null;
  try {
    const plain = await authorizedCall(target);
    const call = trace === null ? plain : trace.withTraceHeaders(span!, plain);
    const { origin } = call;
    const headers = { ...socketHeaders(call.headers), ...prepared.headers };
    const { path, opening } = prepared;
    const request = { origin, path, headers, protocols: [], messageBytesMax, timeoutMs };
    socket = await openProviderSocket(request, services.origins.connectorTo(origin));
    if (opening !== null) socket.send(opening);
    const first = await firstMessage(socket, 'The provider', timeoutMs);
    const refusal = form.refusalIn(first);
    if (refusal !== null) throw new GatewayError('upstream_unreachable', refusal);
    span?.end(101, null);
    return { terms, prepared, socket, first };
  } catch (thrown) {
    socket?.terminate();
    const failure = failureOf(thrown, target);
    span?.end(failure.status, failure.error.code);
    return failure;
  }
}

function socketHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !requestHeaders.has(name)));
}

function failureOf(thrown: unknown, { provider, call }: ResolvedTarget): FailedConnection {
  const { host } = new URL(call.origin);
  if (thrown instanceof GatewayError) return { status: thrown.status, error: thrown };
  const cause = { cause: thrown };
  const status = thrown instanceof SocketRefused ? thrown.status : 502;
  const why =
    thrown instanceof SocketRefused
      ? `has answered the request for a WebSocket with status ${status}`
      : 'cannot be reached';
  const message = `The provider ${provider} at ${host} ${why}`;
  return { status, error: new GatewayError('upstream_unreachable', message, null, cause) };
}

function failed(target: ResolvedTarget, { status, error }: FailedConnection): TargetOutcome {
  return {
    kind: 'failed',
    target,
    cacheStatus: 'DISABLED',
    // A status of success would end a fallback.
    status: status < 400 ? 502 : status,
    retries: 0,
    isSent: true,
    hasLostTries: false,
    verdict: null,
    error,
    metered: null,
  };
}
