/** Serves requests of legacy clients to modern servers: passes the bridge what it needs of the exchange. */

import { Caller } from '../../gateway/transfer/caller.ts';
import { visibleHeaderValue } from '../../http/responses/response-head.ts';
import type { BridgePort } from '../bridge/bridge-port.ts';
import { type LegacySession, unopenedSession } from '../bridge/legacy-session.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { readPostHeaders } from '../messages/post-headers.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { EventOutput } from '../streams/event-output.ts';
import type { OpenStream } from '../streams/open-streams.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import { requireDeliverable } from './deliver.ts';
import { exchangeMessages, listAside } from './exchange-messages.ts';
import { followChanges } from './follow-changes.ts';
import { type McpExchange, readSentMessage, type SentMessages } from './mcp-exchange.ts';
import { openCall } from './open-call.ts';
import type { PlaneCall } from './plane-call.ts';
import { askingServer } from './server-era.ts';

const silenceMs = 600_000;

/** @throws PlaneFault */
export async function serveBridged(exchange: McpExchange, sent: SentMessages): Promise<void> {
  const { services } = exchange;
  if (sent.isBatch) {
    const text = 'The MCP server receives no batches; send one message';
    throw new PlaneFault('invalid_message', text);
  }
  const [call] = sent.calls;
  const { message } = call!;
  const port = portOf(exchange, sent.calls);
  const session = message.method === 'initialize' ? unopenedSession('') : sessionOf(exchange, port);
  // The body as guardrails have left it.
  const json = await readSentMessage(sent);
  const params = (json.params ?? {}) as RpcObject;
  await services.bridge.serve(port, session, { ...message, json, params });
}

/** @throws PlaneFault */
export async function openBridgedStream(exchange: McpExchange): Promise<void> {
  const port = portOf(exchange, []);
  await exchange.services.bridge.stream(port, sessionOf(exchange, port));
}

/** @throws PlaneFault */
export async function endBridgedSession(exchange: McpExchange): Promise<void> {
  const port = portOf(exchange, []);
  await exchange.services.bridge.end(port, sessionOf(exchange, port));
}

/** The session as the server may use it now. */
function sessionOf({ arrival, services, server }: McpExchange, port: BridgePort): LegacySession {
  const { 'mcp-session-id': sealed, 'mcp-protocol-version': version } = arrival.request.headers;
  if (sealed !== undefined) {
    const session = services.bridge.open(String(sealed), port);
    const { disabledClientCapabilities: disabled } = server;
    const allowed = Object.entries(session.capabilities).filter(([name]) => !disabled.has(name));
    return { ...session, capabilities: Object.fromEntries(allowed) };
  }
  return unopenedSession(typeof version === 'string' ? version : undefined);
}

function portOf(exchange: McpExchange, calls: readonly PlaneCall[]): BridgePort {
  const { services, arrival, key, server, reply } = exchange;
  const { response, id } = arrival;
  const { messages } = exchangeMessages(exchange, 'legacy', calls);
  const caller = new Caller(response);
  const output = new EventOutput(response, services.keepAliveMs);
  return {
    organisationId: key.organisationId,
    owner: { key, server },
    response,
    output,
    headers: { 'x-gateway-trace-id': visibleHeaderValue(id) },
    now: services.now,
    send: async (protocol, message, isOpenEnded, onOpen) => {
      const call = await openCall(
        exchange,
        {
          method: 'POST',
          protocol: {
            ...traceHeaders(exchange),
            ...protocol,
            ...readPostHeaders,
          },
          body: Buffer.from(JSON.stringify(message)),
          silenceTimeoutMs: isOpenEnded ? 0 : silenceMs,
          caller,
        },
        (opened) => {
          noteCall(exchange, opened);
          onOpen?.(opened);
        },
      );
      requireDeliverable({ call, messages });
      return call;
    },
    beginReading: () => ({
      memory: services.responseMemory.hold(key.id),
      bounds: services.jsonBounds,
    }),
    ask: askingServer(exchange),
    take: async (message) => await messages.take(message),
    // A list that was read here is newer than the last synchronisation.
    paramHeaders: (tool) =>
      services.knownNames.headersOf(server.id, tool) ?? server.paramHeaders.get(tool),
    learnParamHeaders: async () => {
      services.knownNames.noteHeaders(server.id, await listAside(exchange, 'legacy', 'tool'));
    },
    onStream: () => {
      reply.isStream = true;
    },
    onFault: (fault) => {
      for (const call of calls) call.fault ??= fault;
    },
    follow: (end) => services.streams.add(followChanges(exchange, { output, messages, end })),
    onStop: (end) => services.streams.add(untilStopped(key, end)),
    onOtherEra: () => services.eras.forget(server),
  };
}

/** A call that has begun is not ended by changes. */
function untilStopped({ organisationId }: McpExchange['key'], end: () => void): OpenStream {
  return { organisationId, endsAtMs: null, follow: () => Promise.resolve(), end };
}

/** A call that is repeated with answers counts as one: the first sending decides whether it was sent. */
function noteCall({ reply }: McpExchange, call: ServerCall): void {
  if (reply.call?.isSent !== true) reply.call = call;
}

function traceHeaders({ arrival, reply }: McpExchange): Record<string, string> {
  const traced: Record<string, string> = {};
  for (const name of ['traceparent', 'tracestate']) {
    const value = arrival.request.headers[name];
    if (typeof value === 'string') traced[name] = value;
  }
  if (reply.trace !== null) traced.traceparent = reply.trace.traceParent;
  return traced;
}
