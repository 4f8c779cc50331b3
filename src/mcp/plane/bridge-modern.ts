/** Serves requests of modern clients through the bridge where the server speaks the legacy era only, under the rules of the exchange. */

import { readBody } from '../../gateway/transfer/read-body.ts';
import { visibleHeaderValue } from '../../http/responses/response-head.ts';
import type { Secret } from '../../secret.ts';
import { forwardedHeader, forwardToOwner } from '../bridge/forward-to-owner.ts';
import { isBridgedSession } from '../bridge/legacy-session.ts';
import { ModernOutput } from '../bridge/modern-output.ts';
import type { BridgedRequest } from '../bridge/modern-to-legacy.ts';
import { CredentialsRefused } from '../legacy-sessions/legacy-transport.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { type ListedType, ListingFailed } from '../pins/list-definitions.ts';
import { type CallSubject, callStateFault } from '../rounds/call-states.ts';
import { sessionNotFound } from '../sessions/session-ids.ts';
import { exchangeMessages, listAside } from './exchange-messages.ts';
import { followChanges } from './follow-changes.ts';
import { type McpExchange, readSentMessage, type SentMessages } from './mcp-exchange.ts';
import { identityHeader, tokenSourceOf } from './open-call.ts';
import type { PlaneCall } from './plane-call.ts';
import { findServerEra } from './server-era.ts';
import { upstreamHeaders } from './upstream-headers.ts';

/** A retry that continues a call which waits for input at a legacy server. */
export interface BridgedRetry {
  /** Address of the replica that keeps the call open; null when this one does. */
  readonly owner: string | null;
}

/** Null for any other request. @throws PlaneFault for a call that has ended or expired */
export function bridgedRetryOf(
  exchange: McpExchange,
  { isBatch, calls }: SentMessages,
): BridgedRetry | null {
  const { services, arrival, reply } = exchange;
  const [call] = calls;
  const state = call?.message.params.requestState;
  if (reply.isRefused || isBatch || call === undefined || typeof state !== 'string') return null;
  const retry = services.modernToLegacy.findRetry(state, subjectOf(exchange, call), arrival.now);
  // The address of a replica that has ended may belong to another one.
  const isForwarded = arrival.request.headers[forwardedHeader] !== undefined;
  if (isForwarded && retry !== null && retry.owner !== null) throw callStateFault();
  return retry;
}

/** Whether the client speaks the modern era and the server does not. @throws PlaneFault */
export async function needsLegacySession(
  exchange: McpExchange,
  { era }: SentMessages,
): Promise<boolean> {
  return era === 'modern' && (await findServerEra(exchange)).era === 'legacy';
}

/** The owner authenticates, judges and logs the request itself. @throws PlaneFault when it cannot be reached */
export async function forwardBridged(
  { arrival, reply }: McpExchange,
  owner: string,
  { body, calls }: SentMessages,
): Promise<void> {
  reply.setCalls([], false);
  try {
    await forwardToOwner(owner, arrival.request, arrival.response, body);
  } catch (error) {
    reply.setCalls(calls, false);
    throw error;
  }
}

/**
 * Forwards a request of a session that another replica keeps open; false for any other request.
 *
 * @throws PlaneFault when that replica cannot be reached
 */
export async function forwardEventSession({
  services,
  arrival,
  key,
  server,
}: McpExchange): Promise<boolean> {
  const { request, response } = arrival;
  const sealed = request.headers['mcp-session-id'];
  if (!server.isEventTransport || sealed === undefined || isBridgedSession(String(sealed))) {
    return false;
  }
  const { upstreamId } = services.sessions.open(String(sealed), { key, server });
  const owner = services.eventSessions.ownerOf(upstreamId);
  if (owner === null) return false;
  if (request.headers[forwardedHeader] !== undefined) throw sessionNotFound();
  const hold = services.bodyMemory.hold(key.id);
  try {
    const body = (await readBody(request, services.bodyBytesMax, hold)) ?? Buffer.alloc(0);
    await forwardToOwner(owner, request, response, body, sessionNotFound);
    return true;
  } finally {
    hold.release();
  }
}

/** Lists definitions as the caller would receive them. @throws PlaneFault, ListingFailed */
export async function listForCaller(
  exchange: McpExchange,
  sent: SentMessages,
  type: ListedType,
): Promise<RpcObject> {
  if (!(await needsLegacySession(exchange, sent))) {
    return await listBySameEra(exchange, sent, type);
  }
  return await listByLegacySession(exchange, sent.calls[0]!, type);
}

/** The first request to a server may be this one, before anything shows that it speaks the modern era only. */
async function listBySameEra(
  exchange: McpExchange,
  { era }: SentMessages,
  type: ListedType,
): Promise<RpcObject> {
  try {
    return await listAside(exchange, era, type);
  } catch (error) {
    const { services, server, arrival } = exchange;
    const hasSession = arrival.request.headers['mcp-session-id'] !== undefined;
    if (era !== 'legacy' || hasSession || !isRefusal(error)) throw error;
    if ((await findServerEra(exchange)).era === 'legacy') throw error;
    services.eras.noteRefusal(server);
    return await listAside(exchange, era, type);
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ListingFailed && (error.status === 400 || error.status === 404);
}

async function listByLegacySession(
  exchange: McpExchange,
  call: PlaneCall,
  type: ListedType,
): Promise<RpcObject> {
  const access = {
    message: call.message.json,
    subject: subjectOf(exchange, call),
    findServer: serverFinder(exchange),
  };
  let items: unknown[] | null;
  try {
    items = await exchange.services.modernToLegacy.list(access, type);
  } catch (cause) {
    throw new ListingFailed('it does not list its definitions', null, { cause });
  }
  if (items === null) throw new ListingFailed('its list has no items');
  return { [`${type}s`]: items };
}

/** @throws PlaneFault @throws GatewayError */
export async function serveByLegacySession(
  exchange: McpExchange,
  judged: SentMessages,
): Promise<void> {
  const { services, arrival, reply } = exchange;
  const { response, id, now } = arrival;
  reply.turns.leave();
  const call = judged.calls[0]!;
  const { messages } = exchangeMessages(exchange, 'modern', [call], (type) =>
    listByLegacySession(exchange, call, type),
  );
  const headers = { 'x-gateway-trace-id': visibleHeaderValue(id) };
  using output = new ModernOutput(response, headers, services.keepAliveMs);
  const { events } = output;
  const sent = { isSent: false };
  reply.call = sent;
  try {
    await services.modernToLegacy.serve({
      message: await readSentMessage(judged),
      subject: subjectOf(exchange, call),
      findServer: serverFinder(exchange),
      response,
      output,
      now,
      take: async (message) => await messages.take(message),
      noteSent: () => {
        sent.isSent = true;
      },
      noteFault: (fault) => {
        call.fault = fault;
      },
      addStream: (end) =>
        services.streams.add(followChanges(exchange, { output: events, messages, end })),
    });
  } catch (error) {
    const isRefused = error instanceof CredentialsRefused;
    throw (isRefused && exchange.authorization?.faultOf(error.call)) || error;
  } finally {
    reply.isStream = output.isStream;
  }
}

/** Returns the server with the headers that it receives; null when its credentials cannot be renewed. */
function serverFinder(exchange: McpExchange): BridgedRequest['findServer'] {
  const { services, arrival, server, credentials } = exchange;
  const callerHeaders = arrival.request.headers;
  const source = tokenSourceOf(exchange);
  let token: Secret | null = null;
  return async (isRefused) => {
    if (isRefused && source === null) return null;
    if (source !== null) token = await source.token(isRefused ? token : null);
    const identity = identityHeader(exchange);
    const wanted = { server, callerHeaders, credentials, token, identity, protocol: {} };
    const headers = await upstreamHeaders(wanted, services.secrets);
    return { url: server.url, headers, isEventTransport: server.isEventTransport };
  };
}

function subjectOf({ key, server }: McpExchange, { message }: PlaneCall): CallSubject {
  const { method, params } = message;
  const principal = `${key.kind} ${key.id} ${key.personId ?? ''}`;
  return { principal, serverId: server.id, method, params };
}
