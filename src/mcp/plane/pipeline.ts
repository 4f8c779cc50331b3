/** Serves MCP requests. `serveMcp` and `serveMessages` list the stages of a request in order. */
import { bearerOf } from '../../gateway/callers/authenticate.ts';
import { metadataOf } from '../../gateway/callers/metadata.ts';
import { readBody } from '../../gateway/transfer/read-body.ts';
import { waitForTurn } from '../../gateway/transfer/turn-batches.ts';
import type { BodyHold } from '../../http/input/body-hold.ts';
import { Secret } from '../../secret.ts';
import { readMessages } from '../messages/read-messages.ts';
import { verifyArrival } from '../messages/verify-arrival.ts';
import { verifyHeaders } from '../messages/verify-headers.ts';
import { withoutCapabilities } from '../messages/withheld-capabilities.ts';
import { readConnectAnswer } from '../oauth/connect-question.ts';
import { openRetry } from '../rounds/call-rounds.ts';
import { beginMcpTrace } from '../telemetry/mcp-trace.ts';
import {
  bridgedRetryOf,
  forwardBridged,
  forwardEventSession,
  needsLegacySession,
  serveByLegacySession,
} from './bridge-modern.ts';
import { callServer, endSession, openStream } from './call-server.ts';
import { judgeInput } from './judge-input.ts';
import { type McpExchange, partiesOf, type SentMessages } from './mcp-exchange.ts';
import { PlaneCall } from './plane-call.ts';
import { PlaneReply } from './plane-reply.ts';
import type { McpArrival, PlaneServices } from './plane-services.ts';
import {
  authenticateCaller,
  requireServerUser,
  requireUsableServer,
  requireValidToken,
  reserveCalls,
  verifyCapabilities,
} from './verify-calls.ts';
import { verifyDefinitions, verifyListed } from './verify-definitions.ts';

/** Responds to the request in every case, and logs it; never rejects. */
export async function serveMcp(services: PlaneServices, arrival: McpArrival): Promise<void> {
  const { request, header } = arrival;
  const slug = arrival.slug ?? '';
  const reply = new PlaneReply(services, arrival);
  if (request.method === 'POST') reply.turns.begin();
  try {
    verifyArrival(request, services.hosts);

    // Authenticate.
    const bearer = bearerOf(request.headers.authorization);
    const sent = header('api-key') ?? bearer;
    const authenticated = authenticateCaller(services, sent, slug, arrival.now);
    const key = authenticated instanceof Promise ? await authenticated : authenticated;
    reply.key = key;

    // Find the server in the key's workspace.
    const server = await services.servers.find(key, slug);
    reply.server = server;

    // User access.
    requireServerUser(key, server);
    requireUsableServer(server);
    if (server.verifyToken !== null) {
      await requireValidToken(services, server, server.verifyToken, request.headers);
    }
    const metadata = metadataOf(key, header, undefined);
    reply.metadata = metadata;
    services.keys.noteUse(key, arrival.now);
    const credentials = [sent, bearer].filter((one) => one !== null);
    const callerToken = key.kind === 'token' ? new Secret(sent!, 'token of the caller') : null;
    const authorization = services.connections.authorizationOf(server, key);
    const found = { key, server, metadata, callerToken, credentials, authorization };
    const exchange = { services, arrival, reply, ...found };
    if (server.isEventTransport && (await forwardEventSession(exchange))) {
      // The owner of the session serves and logs the request.
    } else if (request.method === 'POST') await serveMessages(exchange);
    else if (request.method === 'GET') await openStream(exchange);
    else await endSession(exchange);
  } catch (thrown) {
    await reply.fail(thrown);
  }

  // Log.
  reply.log();
}

async function serveMessages(exchange: McpExchange): Promise<void> {
  const { services, arrival, reply, key } = exchange;
  const hold = services.bodyMemory.hold(key.id);
  try {
    await waitForTurn();

    // Parse and verify the message.
    const sent = await readSent(exchange, hold);

    // Capability.
    verifyCapabilities(exchange.server, sent.calls);
    const listing = verifyListed(exchange, sent);
    if (listing !== null) await listing;

    // Bridge: a retry continues the call that asked, at the replica that keeps it open.
    const retry = bridgedRetryOf(exchange, sent);
    if (retry !== null && retry.owner !== null) {
      return await forwardBridged(exchange, retry.owner, sent);
    }

    // Connection of the user.
    if (!reply.isRefused && exchange.authorization !== null) {
      reply.turns.leave();
      await exchange.authorization.require(() => arrival.response.closed);
    }

    // Limits; the call of a retry has been counted.
    if (!reply.isRefused && retry === null) await reserveCalls(exchange, sent.calls);

    // Input guardrails.
    const { guardrails, pins } = exchange.server;
    const isJudged = !reply.isRefused && guardrails.input.length > 0;
    const judged = isJudged ? await judgeInput(exchange, sent) : sent;

    // Definitions: what the server offers now.
    if (pins.isEnforced && !reply.isRefused) await verifyDefinitions(exchange, judged);
    if (reply.isRefused) return reply.refuse();

    // Call upstream, output guardrails, deliver: call-server.ts and deliver.ts, or the bridge.
    const needsSession =
      retry !== null || (sent.era === 'modern' && (await needsLegacySession(exchange, judged)));
    if (needsSession) {
      await serveByLegacySession(exchange, judged);
    } else await callServer(exchange, judged);
  } finally {
    hold.release();

    // Settle.
    reply.settle();
  }
}

async function readSent(exchange: McpExchange, hold: BodyHold): Promise<SentMessages> {
  const { services, arrival, reply, server, authorization } = exchange;
  const { headers } = arrival.request;
  const whole = (await readBody(arrival.request, services.bodyBytesMax, hold)) ?? Buffer.alloc(0);
  const all = await readMessages(whole, services.jsonBounds);
  const answer = authorization === null ? null : readConnectAnswer(whole, all);
  const own = answer === null ? whole : answer.body;
  // All rules see the client as the server does.
  const body = withoutCapabilities(own, all.messages, server.disabledClientCapabilities) ?? own;
  const received = body === whole ? all : await readMessages(body, services.jsonBounds);
  const { isBatch } = received;
  const calls = received.messages.map((message) => new PlaneCall(message));
  // From here on errors carry the ids of the requests.
  reply.setCalls(calls, isBatch);
  const { spanExport } = services;
  reply.trace = spanExport && beginMcpTrace(spanExport.sampler, headers, received.messages[0]!);
  const era = verifyHeaders(
    headers,
    received,
    (tool) => server.paramHeaders.get(tool) ?? services.knownNames.headersOf(server.id, tool),
  );
  const version = headers['mcp-protocol-version'];
  authorization?.noteRequest({
    era,
    message: isBatch ? null : all.messages[0]!,
    version: typeof version === 'string' ? version : null,
    isAccepted: answer === null ? null : answer.isAccepted,
  });
  return openedRetry(exchange, { body, era, isBatch, calls });
}

/** A retry that continues a call carries the server's own state from here on. */
function openedRetry(exchange: McpExchange, sent: SentMessages): SentMessages {
  const { services, arrival, reply } = exchange;
  const { body, era, calls } = sent;
  if (era === 'legacy') return sent;
  const { message } = calls[0]!;
  const parties = partiesOf(exchange);
  const retry = openRetry(services.callStates, parties, { message, body }, arrival.now);
  if (retry.state === null) return sent;
  const retried = [new PlaneCall(retry.message, retry.state)];
  reply.setCalls(retried, false);
  return { ...sent, body: retry.body, calls: retried };
}
