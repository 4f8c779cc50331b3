/** Knows how the answer of a provider comes about and goes back to the caller, in whichever form it is there. */
import type { Leaf } from '../../model/config-tree.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { KeptAnswer } from '../calls/answer-cache.ts';
import { type Attempted, errorOf } from '../calls/attempt.ts';
import { GuardedCalls } from '../calls/guarded-calls.ts';
import { walk } from '../calls/route.ts';
import type { GuardedAnswer } from '../guardrails/guarded-answer.ts';
import { meteredNothing } from '../metering/meter.ts';
import { passedHeaders, relay, stalledMs } from '../transfer/relay.ts';
import { answerHeaders, answerNames, type Calling } from './calling.ts';

export async function callProvider(calling: Calling): Promise<void> {
  const { pipeline, exchange, caller, calls } = calling;
  const guarded = new GuardedCalls({ guardrails: pipeline.guardrails, calls, exchange, caller });
  await send(calling, await attemptOf(calling, (leaf) => guarded.call(leaf)));
}

/** What comes of the targets of the config. */
export function attemptOf(
  { pipeline, found, exchange, config, caller }: Omit<Calling, 'arrival' | 'calls'>,
  call: (leaf: Leaf) => Promise<Attempted>,
): Promise<Attempted> {
  const { params, metadata, path, now } = exchange;
  const attempting = walk(config.root, {
    mark: config.mark,
    now,
    breakers: pipeline.breakers,
    caller,
    chance: Math.random,
    subject: { metadata, params, url: { pathname: `/v1${path}` } },
    call,
  });
  return attempting.then((attempted) => {
    found.countOut();
    found.attempted = attempted;
    found.metered = attempted.metered ?? null;
    return attempted;
  });
}

/** @throws GatewayError where there is no answer */
export function send(calling: Calling, attempted: Attempted): Promise<void> | undefined {
  if (attempted.guarded !== undefined) sendGuarded(calling, attempted, attempted.guarded);
  else if (attempted.kept !== null) sendKept(calling, attempted, attempted.kept);
  else if (attempted.call === null) throw attempted.error!;
  else return sendBack(calling, attempted);
  return undefined;
}

/** An answer that was given before: of the limits it counts as a request, and nothing else. */
function sendKept(
  { arrival, found, exchange, calls }: Calling,
  attempted: Attempted,
  { status, contentType, body }: KeptAnswer,
): void {
  const { response, beganMs, headerPrefix } = arrival;
  found.firstByteMs = monotonicMs() - beganMs;
  found.metered = meteredNothing;
  response.writeHead(status, {
    ...answerHeaders(arrival, attempted, calls.left(), exchange.now),
    [answerNames(headerPrefix).cost]: '0',
    'content-type': contentType,
    'content-length': body.length,
  });
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

/** An answer that was read and judged before anything of it is sent. */
export function sendGuarded(
  { arrival, found, exchange, calls }: Calling,
  attempted: Attempted,
  { status, headers, body, metered, cost }: GuardedAnswer,
): void {
  const { response, beganMs, headerPrefix } = arrival;
  found.firstByteMs = monotonicMs() - beganMs;
  found.metered = metered;
  const ours = answerHeaders(arrival, attempted, calls.left(), exchange.now);
  if (cost !== null) ours[answerNames(headerPrefix).cost] = String(cost);
  response.writeHead(status, {
    ...passedHeaders(headers, ours, headerPrefix),
    'content-length': body.length,
  });
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

async function sendBack(
  { arrival, found, exchange, caller, calls }: Calling,
  attempted: Attempted,
): Promise<void> {
  const { response, beganMs, headerPrefix } = arrival;
  const call = attempted.call!;
  const { translator } = attempted.target;
  const { status = null, trailer = null } = attempted.passedOn ?? {};
  const { lingerMs } = calls;
  const meter = calls.meter();
  const headers = () => answerHeaders(arrival, attempted, calls.left(), exchange.now);
  const end = await relay(call, {
    response,
    caller,
    headerPrefix,
    lingerMs,
    stalledMs,
    status,
    trailer,
    isRewritten: translator !== null,
    events: translator === null ? meter.events : translator.events(meter.events),
    headers,
    onFirst: () => {
      if (found.firstByteMs !== null) return;
      attempted.stopClock();
      found.firstByteMs = monotonicMs() - beganMs;
    },
    onWhole: (came, text) => {
      const cost = meter.readWhole(came, call.headers, text);
      const body = translator === null ? came : translator.whole(call, came);
      calls.keep(call, body);
      const told = headers();
      if (cost !== null) told[answerNames(headerPrefix).cost] = String(cost);
      if (translator !== null) told['content-type'] = 'application/json';
      return { headers: told, body };
    },
  });
  attempted.stopClock();
  found.metered = meter.finish(end);
  if (end.kind !== 'broken') return;
  const error = errorOf(end.error);
  if (!end.isStarted) throw error;
  found.error = error;
}
