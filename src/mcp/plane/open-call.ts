/** Sends one request to the MCP server of an exchange, and ends it when the caller leaves. */
import type { TokenSource } from '../../gateway/logins/client-tokens.ts';
import { Caller } from '../../gateway/transfer/caller.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { waitForTurn } from '../../gateway/transfer/turn-batches.ts';
import type { Secret } from '../../secret.ts';
import { CallCut } from '../../upstream/call.ts';
import { AddressRefused } from '../../upstream/guarded-connect.ts';
import { callMcpServer } from '../event-transport/call-mcp-server.ts';
import { PlaneFault, serverUnreachable } from '../messages/plane-fault.ts';
import type { UserAuthorization } from '../oauth/user-authorization.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import type { McpExchange } from './mcp-exchange.ts';
import { upstreamHeaders } from './upstream-headers.ts';

export interface ServerRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Headers of the protocol; names in lower case. */
  readonly protocol: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  readonly silenceTimeoutMs: number;
  /** Shared by several calls of one exchange; ends the last of them. */
  readonly caller?: Caller;
}

/**
 * Resolves when the response begins; `onCall` receives each call before. A server that no longer accepts
 * the token of the gateway, or of the user, is called once more with a new one.
 *
 * @throws PlaneFault
 */
export async function openCall(
  exchange: McpExchange,
  request: ServerRequest,
  onCall: (call: ServerCall) => void,
): Promise<ServerCall> {
  const { authorization } = exchange;
  const source = tokenSourceOf(exchange);
  if (source === null) return await openCallWith(exchange, request, onCall, null);
  const token = await source.token(null);
  const first = await openCallWith(exchange, request, onCall, token);
  if (first.status !== 401) return requireAuthorized(authorization, first);
  discard(first, 'the token of the gateway has been refused');
  const next = await source.token(token);
  return requireAuthorized(authorization, await openCallWith(exchange, request, onCall, next));
}

/** @throws PlaneFault when the server demands another authorization of the user */
function requireAuthorized(authorization: UserAuthorization | null, call: ServerCall): ServerCall {
  const fault = authorization?.faultOf(call) ?? null;
  if (fault === null) return call;
  discard(call, 'the token of the user has been refused');
  throw fault;
}

/** Where the tokens for the server come from, the user's first; null for a server without them. */
export function tokenSourceOf({
  server,
  services,
  callerToken,
  authorization,
}: McpExchange): Pick<TokenSource, 'token'> | null {
  const { login } = server;
  if (authorization !== null) return authorization;
  if (login === null) return null;
  return services.serverTokens.sourceOf({ server, login, callerToken });
}

async function openCallWith(
  exchange: McpExchange,
  {
    method,
    protocol,
    body,
    silenceTimeoutMs,
    caller = new Caller(exchange.arrival.response),
  }: ServerRequest,
  onCall: (call: ServerCall) => void,
  token: Secret | null,
): Promise<ServerCall> {
  const { services, arrival, server, credentials, reply } = exchange;
  const callerHeaders = arrival.request.headers;
  const identity = identityHeader(exchange);
  const wanted = { server, callerHeaders, credentials, token, identity, protocol };
  const reading = upstreamHeaders(wanted, services.secrets);
  const headers = reading instanceof Promise ? await reading : reading;
  if (caller.isGone) throw new CallCut('the caller has gone');
  const { url, isEventTransport } = server;
  const principal = `${exchange.key.id} ${server.id}`;
  const request = { principal, isEventTransport, url, method, headers, body, silenceTimeoutMs };
  const call = callMcpServer(services.serverConnections, request);
  caller.onLeave(() => call.cut(new CallCut('the caller has gone')));
  onCall(call);
  try {
    await call.responseStarted;
    await waitForTurn();
  } catch (error) {
    throw unreachable(error);
  }
  reply.turns.leave();
  return call;
}

export function identityHeader({
  services,
  server,
  key,
  callerToken,
  arrival,
}: McpExchange): Record<string, string> {
  const { identity: forwarding } = server;
  if (forwarding === null) return {};
  return services.identities.headerOf({ forwarding, key, callerToken, server, now: arrival.now });
}

function discard(call: ServerCall, why: string): void {
  call.pipe({ data: () => true, end: () => {}, fail: () => {} });
  call.cut(new CallCut(why));
}

function unreachable(error: unknown): Error {
  if (error instanceof PlaneFault || error instanceof GatewayError) return error;
  const { code = 'no response' } = error as NodeJS.ErrnoException;
  const why = error instanceof AddressRefused ? error.message : `no response (${code})`;
  return serverUnreachable(why, error);
}
