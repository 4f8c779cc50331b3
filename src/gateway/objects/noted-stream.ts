/** Knows how the events of a stream go to the caller while somebody takes note of them, each before it is sent. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { monotonicMs } from '../../monotonic.ts';
import { type Call, CallCut } from '../../upstream/call.ts';
import { answerHeaders, type Calling } from '../answering/calling.ts';
import { type Attempted, errorOf } from '../calls/attempt.ts';
import { linger } from '../transfer/linger.ts';
import { passedHeaders, type RelayEnd, stalledMs } from '../transfer/relay.ts';
import { drained } from './object-back.ts';

export interface StreamNotes {
  /** Events as the caller gets them, in pieces; they wait until they are noted. */
  note(bytes: Buffer): Promise<void>;
  /** No more comes. What it yields goes to the caller, too. */
  end(): Promise<Buffer>;
  /** Whether the rest is noted although the caller has gone. */
  readonly outlivesCaller: boolean;
  /** Nobody wants the rest. */
  readonly isUnwanted: boolean;
}

/** What the caller gets while the rest is noted. */
interface Told {
  /** Headers of an answer that begins. */
  begin(status: number, headers: OutgoingHttpHeaders): void;
  /** Resolves when more can be told. */
  events(bytes: Buffer): Promise<void>;
  /** `isWhole` is false where the caller is to see that there should have been more. */
  end(last: Buffer, isWhole: boolean): void;
}

/** The events, as they come. */
export function eventsTo(response: ServerResponse): Told {
  return {
    begin: (status, headers) => {
      if (!response.headersSent) response.writeHead(status, headers);
      // Flushed, its headers would go out in UTF-8.
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

/** One object, once `record` yields it. */
export function recordTo(response: ServerResponse, record: () => object | null): Told {
  let begin = (): void => undefined;
  const tell = (): void => {
    const found = response.headersSent || response.destroyed ? null : record();
    if (found === null) return;
    begin();
    response.end(JSON.stringify(found));
  };
  return {
    begin: (status, headers) => {
      const told = { ...headers, 'content-type': 'application/json' };
      begin = () => void response.writeHead(status, told);
    },
    events: async () => tell(),
    end: () => {
      tell();
      if (!response.writableEnded) response.destroy();
    },
  };
}

/** Resolves when all has been noted and sent; what the caller has not taken when it went is noted only. */
export async function sendNoted(
  { arrival, found, exchange, caller, calls }: Calling,
  attempted: Attempted,
  notes: StreamNotes,
  told: Told,
): Promise<void> {
  const { response, beganMs, headerPrefix } = arrival;
  const call = attempted.call!;
  const { translator } = attempted.target;
  const { lingerMs } = calls;
  const meter = calls.meter();
  const events = translator === null ? meter.events! : translator.events(meter.events)!;
  let lingering: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    if (!notes.outlivesCaller) lingering = linger(call, lingerMs);
  });
  const ours = answerHeaders(arrival, attempted, calls.left(), exchange.now);
  const headers = passedHeaders(call.headers, ours, headerPrefix);
  for (const name of ['content-length', 'content-encoding']) delete headers[name];
  told.begin(attempted.passedOn?.status ?? call.status, headers);
  const tell = async (bytes: Buffer): Promise<void> => {
    if (bytes.length === 0) return;
    await notes.note(bytes);
    if (!notes.isUnwanted) await told.events(bytes);
  };
  let end: RelayEnd = { kind: 'whole' };
  try {
    for await (const bytes of bytesOf(call)) {
      if (found.firstByteMs === null) {
        attempted.stopClock();
        found.firstByteMs = monotonicMs() - beganMs;
      }
      await tell(events.pass(bytes));
      if (notes.isUnwanted) call.cut(new CallCut('nobody wants the rest'));
    }
    await tell(events.rest());
  } catch (thrown) {
    end = { kind: 'broken', error: thrown as Error, isStarted: true };
    // Where it was the note that failed, the provider would go on for nobody.
    call.cut(new CallCut('the rest is not noted'));
  }
  if (lingering !== null) clearTimeout(lingering);
  attempted.stopClock();
  const hasLeft = caller.isGone;
  const isRead = end.kind === 'whole';
  caller.onLeave(null);
  found.metered = meter.finish(hasLeft ? { kind: 'left', isRead } : end);
  const last = await notes.end().catch((thrown: unknown) => {
    response.destroy();
    throw thrown;
  });
  if (end.kind === 'broken' && !hasLeft && !notes.isUnwanted) found.error = errorOf(end.error);
  const trailer = attempted.passedOn?.trailer ?? Buffer.alloc(0);
  const isWhole = end.kind === 'whole' && !notes.isUnwanted;
  told.end(Buffer.concat([last, trailer]), isWhole || last.length > 0);
}

/** Read ahead while what came before is noted. */
const aheadBytesMax = 64 * 1024;

/** An answer in pieces: each holds all that has come while the one before it was dealt with. */
async function* bytesOf(call: Call): AsyncGenerator<Buffer> {
  let came: Buffer[] = [];
  let cameBytes = 0;
  let ending: { readonly error: Error | null } | null = null;
  let wake = (): void => {};
  call.pipe({
    data: (bytes) => {
      came.push(bytes);
      cameBytes += bytes.length;
      wake();
      return cameBytes < aheadBytesMax;
    },
    end: () => {
      ending = { error: null };
      wake();
    },
    fail: (error) => {
      ending = { error };
      wake();
    },
  });
  const over = (): { readonly error: Error | null } | null => ending;
  for (;;) {
    if (came.length > 0) {
      const bytes = came.length === 1 ? came[0]! : Buffer.concat(came);
      came = [];
      cameBytes = 0;
      call.resume();
      yield bytes;
      continue;
    }
    const end = over();
    if (end?.error != null) throw end.error;
    if (end !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await promise;
  }
}
