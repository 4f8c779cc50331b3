/** Sends the outcome of a request to its caller. */

import { writeResponseHead } from '../../http/responses/response-head.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { monotonicMs } from '../../monotonic.ts';
import { EventList } from '../../upstream/gemini/event-list.ts';
import type { GuardedResponse } from '../guardrails/guarded-response.ts';
import { noUsage } from '../metering/meter.ts';
import { flatProviderError } from '../transfer/flat-error.ts';
import {
  type EventFilter,
  passedHeaders,
  type RelayEnd,
  relay,
  stalledMs,
  withoutBodyHeaders,
} from '../transfer/relay.ts';
import { errorOf } from './attempt.ts';
import type { CompleteOutcome, LiveOutcome, TargetOutcome } from './outcome.ts';
import type { RequestContext } from './request-context.ts';
import type { CachedResponse } from './response-cache.ts';
import { gatewayHeaderNames, responseHeaders } from './response-headers.ts';
import { isFailure, readWholeResponse } from './whole-response.ts';

/** @throws GatewayError when there is no response */
export function deliver(
  context: RequestContext,
  outcome: TargetOutcome,
): Promise<void> | undefined {
  const isFlatError = context.arrival.errorForm === 'flat' && outcome.status >= 400;
  switch (outcome.kind) {
    case 'live':
      if (isFlatError) return sendFlatError(context, outcome);
      return relayLive(context, outcome);
    case 'cached':
      sendCached(context, outcome, outcome.response);
      return undefined;
    case 'judged':
    case 'local':
      if (isFlatError) return sendFlatError(context, outcome);
      sendComplete(context, outcome, outcome.response);
      return undefined;
    case 'failed':
      throw outcome.error;
  }
}

/** Sends the error of a provider in the flat form, which needs the complete response. */
async function sendFlatError(
  context: RequestContext,
  outcome: LiveOutcome | CompleteOutcome,
): Promise<void> {
  const { calls, caller } = context;
  const options = { calls, caller, onBytes: null, outlivesCaller: false };
  const read =
    outcome.kind === 'live' ? await readWholeResponse(outcome, options) : outcome.response;
  if (isFailure(read)) throw read.error;
  const { metered, cost } = read;
  const { status } = outcome;
  const body = flatProviderError(read.body, status);
  const headers = { ...withoutBodyHeaders(read.headers), 'content-type': 'application/json' };
  sendComplete(context, outcome, { status, headers, body, metered, cost });
}

/** A cached response uses no tokens and costs nothing. */
function sendCached(
  { arrival, draft, exchange, calls }: RequestContext,
  outcome: TargetOutcome,
  { status, contentType, body }: CachedResponse,
): void {
  const { response, headerPrefix } = arrival;
  draft.markFirstByte();
  draft.metered = noUsage;
  const headers = responseHeaders(arrival, outcome, calls.left(), exchange.now);
  headers[gatewayHeaderNames(headerPrefix).cost] = '0';
  headers['content-type'] = contentType;
  headers['content-length'] = String(body.length);
  writeResponseHead(response, status, headers);
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

/** Sends a response that was read completely. */
export function sendComplete(
  { arrival, draft, exchange, calls }: RequestContext,
  outcome: TargetOutcome,
  sent: Omit<GuardedResponse, 'providerStatus'>,
): void {
  const { response, headerPrefix } = arrival;
  const { status, headers: received, metered, cost } = sent;
  draft.markFirstByte();
  draft.metered = metered;
  const own = responseHeaders(arrival, outcome, calls.left(), exchange.now);
  const isList = arrival.gemini?.isList === true && isEventStream(received);
  const body = isList ? wholeList(sent.body) : sent.body;
  if (isList) own['content-type'] = 'application/json';
  if (cost !== null) own[gatewayHeaderNames(headerPrefix).cost] = String(cost);
  const headers = passedHeaders(received, own, headerPrefix);
  headers['content-length'] = String(body.length);
  writeResponseHead(response, status, headers);
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

function wholeList(events: Buffer): Buffer {
  const list = new EventList();
  return Buffer.concat([list.pass(events), list.rest()]);
}

/** Sends the events, and what follows the last one, as one JSON list. */
function listOf(events: EventFilter, trailer: Buffer | null): EventFilter {
  const list = new EventList();
  return {
    pass: (chunk) => list.pass(events.pass(chunk)),
    rest: () => {
      const last = list.pass(Buffer.concat([events.rest(), trailer ?? nothing]));
      return Buffer.concat([last, list.rest()]);
    },
  };
}

const nothing = Buffer.alloc(0);

/** Relays the response while it arrives and settles its usage when it ends. */
async function relayLive(
  { arrival, draft, exchange, caller, calls }: RequestContext,
  outcome: LiveOutcome,
): Promise<void> {
  const { response, beganMs, headerPrefix } = arrival;
  const { call, trailer, status } = outcome;
  const { translator } = outcome.target;
  // Read before `meter()`, which closes the call.
  const { lingerMs } = calls;
  const meter = calls.meter();
  const filter =
    translator === null ? meter.events : translator.events(meter.events, meter.likelyInputTokens);
  const captured = calls.storing.capture(filter);
  const headers = () => responseHeaders(arrival, outcome, calls.left(), exchange.now);
  const events = captured ?? filter;
  const isList = arrival.gemini?.isList === true && events !== null;
  const end: RelayEnd = await relay(call, {
    response,
    caller,
    headerPrefix,
    lingerMs,
    stalledMs,
    status,
    trailer: isList ? null : trailer,
    isRewritten: translator !== null,
    events: isList ? listOf(events, trailer) : events,
    headers: isList ? () => ({ ...headers(), 'content-type': 'application/json' }) : headers,
    onFirst: () => {
      if (draft.firstByteMs !== null) return;
      outcome.stopClock();
      draft.firstByteMs = monotonicMs() - beganMs;
    },
    onWhole: (received, text) => {
      const cost = meter.readWhole(received, call.headers, text);
      const body = translator === null ? received : translator.whole(call, received);
      calls.storing.add(call, body);
      const own = headers();
      if (cost !== null) own[gatewayHeaderNames(headerPrefix).cost] = String(cost);
      if (translator !== null) own['content-type'] = 'application/json';
      return { headers: own, body };
    },
  });
  outcome.stopClock();
  draft.metered = meter.finish(end);
  if (end.kind === 'whole' && captured?.body) calls.storing.add(call, captured.body);
  if (end.kind !== 'broken') return;
  const error = errorOf(end.error, outcome.target);
  if (!end.isStarted) throw error;
  draft.error = error;
}
