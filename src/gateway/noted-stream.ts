/** Knows how the events of a stream go to the caller while somebody takes note of them, each before it is sent. */
import { type Call, CallCut } from '../upstream/call.ts';
import { type Attempted, errorOf } from './attempt.ts';
import { type Calling, ourHeaders } from './calling.ts';
import { limitHeaders } from './limit-headers.ts';
import { linger } from './linger.ts';
import { drained } from './object-back.ts';
import { passedHeaders, type RelayEnd, stalledMs } from './relay.ts';

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

/** Resolves when all has been noted and sent; what the caller has not taken when it went is noted only. */
export async function sendNoted(
  { arrival, found, exchange, caller, calls }: Calling,
  attempted: Attempted,
  notes: StreamNotes,
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
  const headers = passedHeaders(call.headers, ourHeaders(arrival, attempted), headerPrefix);
  for (const name of ['content-length', 'content-encoding']) delete headers[name];
  const left = limitHeaders(calls.left(), headerPrefix, exchange.now);
  if (!response.headersSent)
    response.writeHead(attempted.passedOn?.status ?? call.status, { ...headers, ...left });
  // Flushed, its headers would go out in UTF-8.
  response.write(Buffer.alloc(0));
  response.socket?.setTimeout(stalledMs);
  const tell = async (bytes: Buffer): Promise<void> => {
    if (bytes.length === 0) return;
    await notes.note(bytes);
    const isTaken = response.destroyed || response.writableEnded || response.write(bytes);
    if (!isTaken) await drained(response);
  };
  let end: RelayEnd = { kind: 'whole' };
  try {
    for await (const bytes of bytesOf(call)) {
      if (found.firstByteMs === null) {
        attempted.stopClock();
        found.firstByteMs = performance.now() - beganMs;
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
  if (end.kind === 'broken' && last.length === 0) response.destroy();
  else response.end(Buffer.concat([last, attempted.passedOn?.trailer ?? Buffer.alloc(0)]));
}

/** The pieces of an answer, none before the one before it is done with. */
async function* bytesOf(call: Call): AsyncGenerator<Buffer> {
  const came: Buffer[] = [];
  let ending: { readonly error: Error | null } | null = null;
  let wake = (): void => {};
  call.pipe({
    data: (bytes) => {
      came.push(bytes);
      wake();
      return false;
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
    const bytes = came.shift();
    if (bytes !== undefined) {
      yield bytes;
      continue;
    }
    const end = over();
    if (end?.error != null) throw end.error;
    if (end !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    call.resume();
    await promise;
  }
}
