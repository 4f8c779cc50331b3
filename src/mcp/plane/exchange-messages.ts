/** Builds the rules for what the server of an exchange sends, and lists definitions for them. */

import { Caller } from '../../gateway/transfer/caller.ts';
import { isBridgedSession } from '../bridge/legacy-session.ts';
import { readPostHeaders } from '../messages/post-headers.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { ServerErrors } from '../messages/server-errors.ts';
import type { McpEra } from '../messages/verify-headers.ts';
import { type ListedType, listDefinitions } from '../pins/list-definitions.ts';
import { ListExaminer } from '../pins/list-examiner.ts';
import type { SealedSession } from '../sessions/session-ids.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import type { McpExchange } from './mcp-exchange.ts';
import { openCall } from './open-call.ts';
import type { PlaneCall } from './plane-call.ts';
import { ServerMessages } from './server-messages.ts';

/** A list that the gateway needs before a call. */
const asideMs = 10_000;

export interface ExchangeMessages {
  readonly messages: ServerMessages;
  readonly errors: ServerErrors;
}

/** `list` lists the definitions of the server again; `declared` is what a session says that the client can be asked for. */
export function exchangeMessages(
  exchange: McpExchange,
  era: McpEra,
  calls: readonly PlaneCall[],
  list = (type: ListedType): Promise<RpcObject> => listAside(exchange, era, type),
  declared: OpenedSession['declared'] = null,
): ExchangeMessages {
  const { services, server, arrival, metadata } = exchange;
  const { request, id, now } = arrival;
  const { definitions, definitionChecks } = services;
  const { organisationId, integrationId } = server;
  const lists = new ListExaminer({
    onDefinitions: (seen) => definitions.note({ organisationId, integrationId }, seen),
    onListChange: (type) =>
      definitionChecks.noteChange(server, type, services.now(), () => list(type)),
  });
  const errors = new ServerErrors(calls);
  const sources = { headers: request.headers, metadata, traceId: id, now };
  const onDropped = services.observeDropped;
  const rules = { server, calls, errors, lists, onDropped, declared, ...sources };
  return { messages: new ServerMessages(rules), errors };
}

/** The session that the caller names; null for none. */
export interface OpenedSession extends SealedSession {
  readonly sealed: string;
}

export function openedSession({
  services,
  arrival,
  key,
  server,
}: McpExchange): OpenedSession | null {
  const sealed = arrival.request.headers['mcp-session-id'];
  if (sealed === undefined) return null;
  return {
    sealed: String(sealed),
    ...services.sessions.open(String(sealed), { key, server }),
  };
}

/** Whether the request belongs to a session with the bridge, or the server is known to refuse others. */
export function isBridged({ services, arrival, server }: McpExchange): boolean {
  const sealed = arrival.request.headers['mcp-session-id'];
  if (sealed !== undefined) return isBridgedSession(String(sealed));
  return services.eras.refusesLegacy(server, arrival.now);
}

/**
 * Lists definitions with the access and the session of the caller; the caller sees nothing of it.
 *
 * @throws PlaneFault, ListingFailed
 */
export async function listAside(
  exchange: McpExchange,
  callerEra: McpEra,
  type: ListedType,
): Promise<RpcObject> {
  const isLegacy = callerEra === 'legacy' && !isBridged(exchange);
  const version = exchange.arrival.request.headers['mcp-protocol-version'];
  const session = isLegacy ? openedSession(exchange) : null;
  const shared = {
    ...readPostHeaders,
    ...(typeof version === 'string' && { 'mcp-protocol-version': version }),
    ...(session !== null && { 'mcp-session-id': session.upstreamId }),
  };
  const caller = new Caller(exchange.arrival.response);
  const sendPage = (
    body: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<ServerCall> => {
    const protocol = { ...shared, ...headers };
    const request = { method: 'POST', protocol, body, silenceTimeoutMs: asideMs } as const;
    return openCall(exchange, { ...request, caller }, () => {});
  };
  const era = isLegacy ? 'legacy' : 'modern';
  return await listDefinitions({ era, send: sendPage }, type);
}
