/** Relays a stream whose events are judged in windows before they are sent. */
import { writeResponseHead } from '../../../http/responses/response-head.ts';
import { CallCut } from '../../../upstream/call.ts';
import type { WindowedStream } from '../../guardrails/windowed-stream.ts';
import { bytesOf, drained } from '../../transfer/body-pieces.ts';
import { streamFormOf } from '../../transfer/caller-body.ts';
import { observedStream } from '../../transfer/captured-stream.ts';
import { linger } from '../../transfer/linger.ts';
import { type EventFilter, passedHeaders, type RelayEnd, stalledMs } from '../../transfer/relay.ts';
import { errorOf } from '../attempt.ts';
import type { LiveOutcome } from '../outcome.ts';
import type { RequestContext } from '../request-context.ts';
import { responseHeaders } from '../response-headers.ts';

const unchanged: EventFilter = { pass: (chunk) => chunk, rest: () => Buffer.alloc(0) };

/** Resolves when everything that may be sent has been sent, and the stream has ended. */
export async function relayWindowed(
  context: RequestContext,
  outcome: LiveOutcome,
  windowed: WindowedStream,
): Promise<void> {
  const { arrival, draft, caller, calls } = context;
  const { response } = arrival;
  const { call, target } = outcome;
  const { translator } = target;
  // Read before `meter()`, which closes the call.
  const { lingerMs } = calls;
  const meter = calls.meter();
  const received =
    translator === null ? meter.events : translator.events(meter.events, meter.likelyInputTokens);
  const captured = calls.storing.capture(received);
  const events = captured ?? received ?? unchanged;
  const sent = observedStream(outcome, null);
  const framed = streamFormOf(arrival.action)?.open() ?? unchanged;
  let lingering: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    lingering = linger(call, lingerMs);
  });
  sendHead(context, outcome);
  const send = async (judged: Buffer): Promise<void> => {
    const bytes = framed.pass(sent?.pass(judged) ?? judged);
    if (bytes.length === 0 || caller.isGone) return;
    if (!response.write(bytes)) await drained(response);
  };
  let end: RelayEnd = { kind: 'whole' };
  try {
    for await (const bytes of bytesOf(call)) {
      if (draft.firstByteMs === null) {
        outcome.stopClock();
        draft.markFirstByte();
      }
      await send(await windowed.pass(events.pass(bytes)));
      if (windowed.isStopped) call.cut(new CallCut('a guardrail has stopped the stream'));
    }
    await send(await windowed.pass(events.rest()));
    await send(await windowed.rest());
  } catch (thrown) {
    end = { kind: 'broken', error: thrown as Error, isStarted: true };
    call.cut(new CallCut('the stream cannot go on'));
  }
  if (lingering !== null) clearTimeout(lingering);
  outcome.stopClock();
  const hasLeft = caller.isGone;
  caller.onLeave(null);
  draft.metered = meter.finish(hasLeft ? { kind: 'left', isRead: end.kind === 'whole' } : end);
  draft.addObserved(windowed.judgement);
  draft.observe(outcome, sent);
  if (windowed.isStopped) calls.storing.forget();
  else if (end.kind === 'whole' && captured?.body) calls.storing.add(call, captured.body);
  if (end.kind === 'broken' && !windowed.isStopped) {
    if (!hasLeft) draft.error = errorOf(end.error, target);
    // A regular end would make the response look complete.
    response.destroy();
    return;
  }
  response.end(framed.rest());
}

function sendHead({ arrival, exchange, calls }: RequestContext, outcome: LiveOutcome): void {
  const { response, headerPrefix } = arrival;
  const own = responseHeaders(arrival, outcome, calls.left(), exchange.now);
  const form = streamFormOf(arrival.action);
  if (form !== null) own['content-type'] = form.contentType;
  const headers = passedHeaders(outcome.call.headers, own, headerPrefix);
  for (const name of ['content-length', 'content-md5', 'content-digest', 'etag']) {
    delete headers[name];
  }
  writeResponseHead(response, outcome.status, headers);
  // An empty write sends the head; flushHeaders would encode it in UTF-8.
  response.write(Buffer.alloc(0));
  response.socket?.setTimeout(stalledMs);
}
