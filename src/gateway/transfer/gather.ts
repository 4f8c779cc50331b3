/** Reads the response of a provider completely before any of it is sent. */
import type { Call } from '../../upstream/call.ts';
import type { Caller } from './caller.ts';
import { GatewayError } from './gateway-error.ts';
import { linger } from './linger.ts';
import type { EventFilter, RelayEnd } from './relay.ts';
import { hasTinyChunks } from './tiny-chunks.ts';

/** Bound of a response that is read completely. */
const gatheredBytesMax = 8 * 1024 * 1024;

export interface WholeBody {
  /** Everything that arrived. */
  readonly body: Buffer;
  readonly end: RelayEnd;
}

export interface GatherOptions {
  readonly caller: Caller;
  /** See the option of a relay. */
  readonly lingerMs: number;
  readonly events: EventFilter | null;
  /** Receives the bytes as they arrive. */
  readonly onBytes?: ((bytes: Buffer) => void) | null;
}

/** Never rejects; a response that is too large ends as broken. */
export function readWhole(
  call: Call,
  { caller, lingerMs, events, onBytes }: GatherOptions,
): Promise<WholeBody> {
  const { promise, resolve } = Promise.withResolvers<WholeBody>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let hasLeft = false;
  let lingering: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    hasLeft = true;
    lingering = linger(call, lingerMs);
  });
  const add = (chunk: Buffer): void => {
    bytes += chunk.length;
    chunks.push(chunk);
    onBytes?.(chunk);
    if (bytes > gatheredBytesMax || hasTinyChunks(chunks.length, bytes)) call.cut(answerTooLarge());
  };
  const finish = (end: RelayEnd): void => {
    if (lingering !== null) clearTimeout(lingering);
    caller.onLeave(null);
    resolve({ body: Buffer.concat(chunks), end });
  };
  call.pipe({
    data: (chunk) => {
      add(events === null ? chunk : events.pass(chunk));
      return true;
    },
    end: () => {
      if (events !== null) add(events.rest());
      finish(hasLeft ? { kind: 'left', isRead: true } : { kind: 'whole' });
    },
    fail: (error) =>
      finish(
        hasLeft ? { kind: 'left', isRead: false } : { kind: 'broken', error, isStarted: false },
      ),
  });
  return promise;
}

function answerTooLarge(): GatewayError {
  const message = `The response is too large for guardrails: more than ${gatheredBytesMax} bytes or too many small chunks`;
  return new GatewayError('answer_too_large', message);
}
