/** Delivers the events of a stream while their objects are recorded, each before it is sent. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { CallCut } from '../../upstream/call.ts';
import { errorOf } from '../calls/attempt.ts';
import type { LiveOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { responseHeaders } from '../calls/response-headers.ts';
import { bytesOf, drained } from '../transfer/body-pieces.ts';
import { observedStream } from '../transfer/captured-stream.ts';
import { linger } from '../transfer/linger.ts';
import { passedHeaders, type RelayEnd, stalledMs } from '../transfer/relay.ts';

export interface StreamRecorder {
  /** Records events in the caller's format, in pieces; the caller receives them afterwards. */
  record(bytes: Buffer): Promise<void>;
  /** Ends the recording; resolves to bytes that the caller receives last. */
  end(): Promise<Buffer>;
  /** Whether the rest is recorded even if the caller goes. */
  readonly outlivesCaller: boolean;
  /** Whether the rest of the stream is no longer needed. */
  readonly isUnwanted: boolean;
}

/** Receives what is sent to the caller. */
interface StreamReceiver {
  begin(status: number, headers: OutgoingHttpHeaders): void;
  /** Resolves when more events can be taken. */
  events(bytes: Buffer): Promise<void>;
  /** `isWhole` is false when the caller must notice that the stream broke off. */
  end(last: Buffer, isWhole: boolean): void;
}

/** Sends the events as they arrive. */
export function eventsTo(response: ServerResponse): StreamReceiver {
  return {
    begin: (status, headers) => {
      if (!response.headersSent) writeResponseHead(response, status, headers);
      // An empty write sends the head; flushHeaders would encode it in UTF-8.
      response.write(Buffer.alloc(0));
      response.socket?.setTimeout(stalledMs);
    },
    events: async (bytes) => {
      const isTaken = response.destroyed || response.writableEnded || response.write(bytes);
      if (!isTaken) await drained(response);
    },
    end: (last, isWhole) => {
      if (isWhole) response.end(last);
      else response.destroy();
    },
  };
}

/** Sends one JSON object as soon as `record` returns it. */
export function recordTo(response: ServerResponse, record: () => object | null): StreamReceiver {
  let writeHead = (): void => undefined;
  const send = (): void => {
    const object = response.headersSent || response.destroyed ? null : record();
    if (object === null) return;
    writeHead();
    response.end(JSON.stringify(object));
  };
  return {
    begin: (status, headers) => {
      const jsonHeaders = { ...headers, 'content-type': 'application/json' };
      writeHead = () => writeResponseHead(response, status, jsonHeaders);
    },
    events: async () => send(),
    end: () => {
      send();
      if (!response.writableEnded) response.destroy();
    },
  };
}

/** Resolves when all events are recorded and sent. After the caller disconnects, events are only recorded. */
export async function deliverRecordedStream(
  { arrival, draft, exchange, caller, calls }: RequestContext,
  outcome: LiveOutcome,
  recorder: StreamRecorder,
  receiver: StreamReceiver,
): Promise<void> {
  const { response, headerPrefix } = arrival;
  const { call, trailer } = outcome;
  const { translator } = outcome.target;
  // Read before `meter()`, which closes the call.
  const { lingerMs } = calls;
  const meter = calls.meter();
  const received =
    translator === null ? meter.events! : translator.events(meter.events, meter.likelyInputTokens)!;
  const observed = observedStream(outcome, null);
  const { windowed } = outcome;
  let lingering: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    if (!recorder.outlivesCaller) lingering = linger(call, lingerMs);
  });
  const own = responseHeaders(arrival, outcome, calls.left(), exchange.now);
  receiver.begin(outcome.status, headersOf(call, own, headerPrefix));
  const pass = async (arriving: Buffer | Promise<Buffer>): Promise<void> => {
    const judged = await arriving;
    const bytes = observed?.pass(judged) ?? judged;
    if (bytes.length === 0) return;
    await recorder.record(bytes);
    if (!recorder.isUnwanted) await receiver.events(bytes);
  };
  let end: RelayEnd = { kind: 'whole' };
  try {
    for await (const bytes of bytesOf(call)) {
      if (draft.firstByteMs === null) {
        outcome.stopClock();
        draft.markFirstByte();
      }
      const arrived = received.pass(bytes);
      await pass(windowed?.pass(arrived) ?? arrived);
      const isUnwanted = recorder.isUnwanted || windowed?.isStopped === true;
      if (isUnwanted) call.cut(new CallCut('nobody wants the rest'));
    }
    const rest = received.rest();
    await pass(windowed?.pass(rest) ?? rest);
    if (windowed !== null) await pass(windowed.rest());
  } catch (thrown) {
    end = { kind: 'broken', error: thrown as Error, isStarted: true };
    // If recording failed, the rest of the response has no receiver.
    call.cut(new CallCut('the response cannot be recorded'));
  }
  if (lingering !== null) clearTimeout(lingering);
  outcome.stopClock();
  if (windowed !== null) draft.addObserved(windowed.judgement);
  draft.observe(outcome, observed);
  const hasLeft = caller.isGone;
  const isRead = end.kind === 'whole';
  caller.onLeave(null);
  draft.metered = meter.finish(hasLeft ? { kind: 'left', isRead } : end);
  const last = await recorder.end().catch((thrown: unknown) => {
    response.destroy();
    throw thrown;
  });
  const isStopped = windowed?.isStopped === true;
  if (end.kind === 'broken' && !hasLeft && !recorder.isUnwanted && !isStopped)
    draft.error = errorOf(end.error, outcome.target);
  const isWhole = isStopped || (end.kind === 'whole' && !recorder.isUnwanted);
  receiver.end(
    trailer === null ? last : Buffer.concat([last, trailer]),
    isWhole || last.length > 0,
  );
}

function headersOf(
  { headers: received }: LiveOutcome['call'],
  own: Record<string, string>,
  prefix: string,
): OutgoingHttpHeaders {
  const headers = passedHeaders(received, own, prefix);
  for (const name of ['content-length', 'content-encoding']) delete headers[name];
  return headers;
}
