/** Sends the outcome of a request to its caller. */

import { writeResponseHead } from '../../http/responses/response-head.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { GuardedResponse } from '../guardrails/guarded-response.ts';
import { noUsage } from '../metering/meter.ts';
import { callerBody, streamFormOf, streamIn, wholeStream } from '../transfer/caller-body.ts';
import { observedStream } from '../transfer/captured-stream.ts';
import { restatedError, restatesErrors } from '../transfer/flat-error.ts';
import {
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
import { relayWindowed } from './streams/relay-windowed.ts';
import { isFailure, readWholeResponse } from './whole-response.ts';

/** @throws GatewayError when there is no response */
export function deliver(
  context: RequestContext,
  outcome: TargetOutcome,
): Promise<void> | undefined {
  const isRestated = restatesErrors(context.arrival.errorForm) && outcome.status >= 400;
  switch (outcome.kind) {
    case 'live':
      if (isRestated) return sendRestatedError(context, outcome);
      if (outcome.windowed !== null) return relayWindowed(context, outcome, outcome.windowed);
      return relayLive(context, outcome);
    case 'cached':
      sendCached(context, outcome, outcome.response);
      return undefined;
    case 'judged':
    case 'local':
      if (isRestated) return sendRestatedError(context, outcome);
      sendComplete(context, outcome, outcome.response);
      return undefined;
    case 'failed':
      throw outcome.error;
  }
}

/** Sends the error of a provider in the form of the caller, which needs the complete response. */
async function sendRestatedError(
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
  const body = restatedError(context.arrival.errorForm, read.body, status);
  const headers = { ...withoutBodyHeaders(read.headers), 'content-type': 'application/json' };
  sendComplete(context, outcome, { status, headers, body, metered, cost });
}

/** A cached response uses no tokens and costs nothing. */
function sendCached(
  { arrival, draft, exchange, calls }: RequestContext,
  outcome: TargetOutcome,
  { status, contentType, body: cached }: CachedResponse,
): void {
  const { response, headerPrefix, action } = arrival;
  const form = contentType.startsWith('text/event-stream') ? streamFormOf(action) : null;
  const body = form === null ? callerBody(action, cached) : wholeStream(form, cached);
  draft.markFirstByte();
  draft.metered = noUsage;
  const headers = responseHeaders(arrival, outcome, calls.left(), exchange.now);
  headers[gatewayHeaderNames(headerPrefix).cost] = '0';
  headers['content-type'] = form?.contentType ?? contentType;
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
  const { response, headerPrefix, action } = arrival;
  const { status, headers: received, metered, cost } = sent;
  draft.markFirstByte();
  draft.metered = metered;
  const own = responseHeaders(arrival, outcome, calls.left(), exchange.now);
  const form = isEventStream(received) ? streamFormOf(action) : null;
  const body = form === null ? callerBody(action, sent.body) : wholeStream(form, sent.body);
  if (form !== null) own['content-type'] = form.contentType;
  if (cost !== null) own[gatewayHeaderNames(headerPrefix).cost] = String(cost);
  const headers = passedHeaders(received, own, headerPrefix);
  headers['content-length'] = String(body.length);
  writeResponseHead(response, status, headers);
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

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
  const observed = observedStream(outcome, captured ?? filter);
  const events = observed ?? captured ?? filter;
  const form = events === null ? null : streamFormOf(arrival.action);
  const end: RelayEnd = await relay(call, {
    response,
    caller,
    headerPrefix,
    lingerMs,
    stalledMs,
    status,
    trailer: form === null ? trailer : null,
    isRewritten: translator !== null,
    events: form === null ? events : streamIn(form, events!, trailer),
    headers: form === null ? headers : () => ({ ...headers(), 'content-type': form.contentType }),
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
      return { headers: own, body: callerBody(arrival.action, body) };
    },
  });
  outcome.stopClock();
  draft.observe(outcome, observed);
  draft.metered = meter.finish(end);
  if (end.kind === 'whole' && captured?.body) calls.storing.add(call, captured.body);
  if (end.kind !== 'broken') return;
  const error = errorOf(end.error, outcome.target);
  if (!end.isStarted) throw error;
  draft.error = error;
}
