/** Calls the MCP server with verified messages, opens its stream, and ends its sessions. */

import type { IncomingHttpHeaders } from 'node:http';
import { visibleHeaderValue } from '../../http/responses/response-head.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { CallCut } from '../../upstream/call.ts';
import { declaredIn } from '../messages/declared-capabilities.ts';
import { postHeaders } from '../messages/post-headers.ts';
import { isFromLegacyClient } from '../messages/verify-headers.ts';
import { requireOpenedState, sealRound } from '../rounds/call-rounds.ts';
import { EventOutput } from '../streams/event-output.ts';
import type { LiveResponse, ServerCall } from '../transfer/response-chunks.ts';
import { endBridgedSession, openBridgedStream, serveBridged } from './bridged-requests.ts';
import { deliverResponse, type ResponseDelivery } from './deliver.ts';
import {
  exchangeMessages,
  isBridged,
  type OpenedSession,
  openedSession,
} from './exchange-messages.ts';
import { followChanges } from './follow-changes.ts';
import { type McpExchange, partiesOf, type SentMessages } from './mcp-exchange.ts';
import { openCall, type ServerRequest } from './open-call.ts';
import { unlessRefused } from './server-era.ts';

/** Longest wait for the head of a response, and between two chunks of it. */
const silenceMs = 600_000;
/** A stream of the server may be silent for ever. */
const noTimeout = 0;
/** Finds callers that have gone without a word. */
const keepAliveMs = 60_000;

/** Headers of the protocol that pass as they were verified. */
const passedNames: ReadonlySet<string> = new Set([
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'traceparent',
  'tracestate',
]);

/** @throws PlaneFault */
export async function callServer(exchange: McpExchange, sent: SentMessages): Promise<void> {
  const isLegacy = sent.era === 'legacy';
  const messages = sent.calls.map(({ message }) => message);
  const mayBridge = isLegacy && isFromLegacyClient(exchange.arrival.request.headers, messages);
  if (mayBridge && isBridged(exchange)) return await serveBridged(exchange, sent);
  if (!isLegacy) for (const call of sent.calls) requireOpenedState(call);
  const session = isLegacy ? openedSession(exchange) : null;
  const protocol = {
    ...protocolHeaders(exchange.arrival.request.headers, session),
    ...(exchange.reply.trace !== null && { traceparent: exchange.reply.trace.traceParent }),
    ...postHeaders,
  };
  const isOpenEnded = sent.calls.some((one) => one.isOpenEnded);
  const silenceTimeoutMs = isOpenEnded ? noTimeout : silenceMs;
  const request = { method: 'POST', protocol, body: sent.body, silenceTimeoutMs } as const;
  const call = await send(exchange, request);
  const response = mayBridge && session === null ? await unlessRefused(exchange, call) : call;
  if (response === null) return await serveBridged(exchange, sent);
  await respond(exchange, response, sent, session);
}

/** Opens the stream on which a legacy server sends messages of its own. @throws PlaneFault */
export async function openStream(exchange: McpExchange): Promise<void> {
  if (isBridged(exchange)) return await openBridgedStream(exchange);
  const { headers } = exchange.arrival.request;
  const session = openedSession(exchange);
  const lastEvent = headers['last-event-id'];
  const protocol = {
    ...protocolHeaders(headers, session),
    ...(typeof lastEvent === 'string' && { 'last-event-id': lastEvent }),
    accept: 'text/event-stream',
  };
  const request = { method: 'GET', protocol, body: null, silenceTimeoutMs: noTimeout } as const;
  const call = await send(exchange, request);
  await respond(exchange, call, null, session);
}

/** Delivers a stream without an end of its own until its caller may no longer read it, or the process stops. */
async function deliverOpenEnded(exchange: McpExchange, delivery: ResponseDelivery): Promise<void> {
  const { services, arrival } = exchange;
  arrival.request.socket.setKeepAlive(true, keepAliveMs);
  const end = (): void => {
    arrival.response.end();
    delivery.call.cut(new CallCut('the gateway ends the stream'));
  };
  const stream = followChanges(exchange, { ...delivery, end });
  const forget = services.streams.add(stream);
  await deliverResponse(delivery).finally(forget);
}

/** @throws PlaneFault */
export async function endSession(exchange: McpExchange): Promise<void> {
  if (isBridged(exchange)) return await endBridgedSession(exchange);
  const session = openedSession(exchange);
  const protocol = protocolHeaders(exchange.arrival.request.headers, session);
  const request = { method: 'DELETE', protocol, body: null, silenceTimeoutMs: silenceMs } as const;
  const call = await send(exchange, request);
  await respond(exchange, call, null, session);
}

function protocolHeaders(
  headers: IncomingHttpHeaders,
  session: OpenedSession | null,
): Record<string, string> {
  const passed: Record<string, string> = { 'accept-encoding': 'identity' };
  for (const name in headers) {
    const isPassed = passedNames.has(name) || name.startsWith('mcp-param-');
    const value = isPassed ? headers[name] : undefined;
    if (typeof value === 'string') passed[name] = value;
  }
  if (session !== null) passed['mcp-session-id'] = session.upstreamId;
  return passed;
}

/** Sends the message of the caller. @throws PlaneFault */
async function send(exchange: McpExchange, request: ServerRequest): Promise<ServerCall> {
  return await openCall(exchange, request, (call) => {
    exchange.reply.call = call;
  });
}

async function respond(
  exchange: McpExchange,
  call: LiveResponse,
  sent: SentMessages | null,
  session: OpenedSession | null,
): Promise<void> {
  const { services, key, arrival, reply } = exchange;
  const { response, id } = arrival;
  const calls = sent?.calls ?? [];
  const { messages, errors } = exchangeMessages(
    exchange,
    sent?.era ?? 'legacy',
    calls,
    undefined,
    session?.declared,
  );
  reply.isStream = isEventStream(call.headers);
  const headers = {
    'x-gateway-trace-id': visibleHeaderValue(id),
    ...sessionHeader(exchange, call, sent, session),
  };
  using output = new EventOutput(response, services.keepAliveMs);
  const parties = partiesOf(exchange);
  const seal = (message: unknown): unknown =>
    sent?.era === 'modern'
      ? sealRound(services.callStates, parties, calls, message, services.now())
      : message;
  const memory = services.responseMemory.hold(key.id);
  const { jsonBounds } = services;
  const about = { call, response, messages, errors, output, headers };
  const delivery = { ...about, jsonBounds, seal, memory };
  try {
    const isOpenEnded = messages.isOpenEnded && isEventStream(call.headers);
    await (isOpenEnded ? deliverOpenEnded(exchange, delivery) : deliverResponse(delivery));
  } catch (thrown) {
    call.cut(new CallCut('the response cannot be delivered'));
    throw thrown;
  } finally {
    memory.release();
  }
}

/** The session of a legacy response, sealed; the caller's own when the server repeats it. */
function sessionHeader(
  { services, key, server }: McpExchange,
  call: LiveResponse,
  sent: SentMessages | null,
  session: OpenedSession | null,
): Record<string, string> {
  const upstreamId = call.headers['mcp-session-id'];
  if (typeof upstreamId !== 'string' || sent?.era === 'modern') return {};
  const isSame = session !== null && session.upstreamId === upstreamId;
  const opening = sent?.calls.find(({ message }) => message.method === 'initialize');
  const declared = opening === undefined ? null : declaredIn(opening.message.params.capabilities);
  const sealed = isSame
    ? session.sealed
    : services.sessions.seal(upstreamId, { key, server }, declared);
  return sealed === null ? {} : { 'mcp-session-id': sealed };
}
