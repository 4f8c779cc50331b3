/** Knows how an answer goes back that the gateway itself has given about what callers keep. */
import { monotonicMs } from '../../monotonic.ts';
import { ByteStream, type ObjectAnswer } from '../../objects/object-request.ts';
import { type Calling, ourHeaders } from '../answering/calling.ts';
import type { Attempted } from '../calls/attempt.ts';
import { meteredNothing } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { stalledMs } from '../transfer/relay.ts';

/** A target that was not called, or not for this answer, which the gateway gives in its place: a JSON object, or what follows. */
export function answerHere(target: ResolvedTarget, told: object | null = null): Attempted {
  const body = told === null ? Buffer.alloc(0) : Buffer.from(JSON.stringify(told));
  const headers = { 'content-type': 'application/json' };
  const answer = { status: 200, headers, body, metered: meteredNothing };
  return {
    ...{ target, call: null, kept: null, error: null, status: 200, retries: 0 },
    ...{ cacheStatus: 'DISABLED', isSent: false, stopClock: () => undefined },
    guarded: { ...answer, cost: null, providerStatus: null },
  };
}

/** Resolves when all of it is on its way. */
export async function sendObject(
  { arrival, found }: Calling,
  { status = 200, contentType, body }: ObjectAnswer,
): Promise<void> {
  const { response, beganMs } = arrival;
  const headers = ourHeaders(arrival, found.attempted);
  found.firstByteMs = monotonicMs() - beganMs;
  found.metered = meteredNothing;
  response.socket?.setTimeout(stalledMs);
  if (body instanceof ByteStream)
    return sendBytes(response, body, { status, headers, contentType });
  if (Symbol.asyncIterator in body) {
    response.writeHead(status, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(Buffer.alloc(0));
    for await (const events of body as AsyncIterable<string>) {
      if (response.destroyed) return;
      if (!response.write(events)) await drained(response);
    }
    response.end();
    return;
  }
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...headers,
    ...(isUnderWay(body) ? askAgain : {}),
    'content-type': contentType ?? 'application/json',
    'content-length': bytes.length,
  });
  response.end(bytes);
}

/** Clients of OpenAI that ask until something is over do so every five seconds, unless they are told. */
const askAgain = { 'openai-poll-after-ms': '1000' };
const statesUnderWay: ReadonlySet<unknown> = new Set(['queued', 'in_progress', 'cancelling']);

function isUnderWay(body: object): boolean {
  return 'status' in body && statesUnderWay.has(body.status);
}

interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string | undefined;
}

/** The head goes when the first piece is there, so that what cannot be read is answered as any error. */
async function sendBytes(
  response: Calling['arrival']['response'],
  { bytes, pieces }: ByteStream,
  { status, headers, contentType = 'application/octet-stream' }: Head,
): Promise<void> {
  const reader = pieces[Symbol.asyncIterator]();
  let next = await reader.next();
  response.writeHead(status, {
    ...headers,
    'content-type': contentType,
    'content-length': bytes,
  });
  try {
    for (; next.done !== true; next = await reader.next()) {
      if (response.destroyed) return void (await reader.return?.());
      if (!response.write(next.value)) await drained(response);
    }
  } catch (error) {
    // Less than was said, so that nobody takes it for all of it.
    response.destroy();
    throw error;
  }
  response.end();
}

/** Or gone. */
export async function drained(response: Calling['arrival']['response']): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once('drain', resolve).once('close', resolve);
  await promise;
  response.off('drain', resolve).off('close', resolve);
}
