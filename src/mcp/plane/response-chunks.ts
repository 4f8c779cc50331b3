/** Reads the body of a server's response in chunks, and writes chunks to the caller with backpressure. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../upstream/call.ts';
import { PlaneFault } from '../messages/plane-fault.ts';

const queuedBytesMax = 256 * 1024;
/** A caller that reads nothing for this time is disconnected. */
const stalledMs = 120_000;

/** @throws PlaneFault when the response breaks off */
export async function* chunksOf(call: Call): AsyncGenerator<Buffer> {
  const queue: Buffer[] = [];
  let queuedBytes = 0;
  let ending: { readonly error: Error | null } | null = null;
  let wake: () => void = () => {};
  call.pipe({
    data: (chunk) => {
      queue.push(chunk);
      queuedBytes += chunk.length;
      wake();
      return queuedBytes < queuedBytesMax;
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
  const endingNow = (): { readonly error: Error | null } | null => ending;
  for (;;) {
    const chunk = queue.shift();
    if (chunk !== undefined) {
      const wasFull = queuedBytes >= queuedBytesMax;
      queuedBytes -= chunk.length;
      yield chunk;
      if (wasFull && queuedBytes < queuedBytesMax) call.resume();
      continue;
    }
    const ended = endingNow();
    if (ended !== null) {
      if (ended.error !== null) throw brokenOff(ended.error);
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await promise;
  }
}

function brokenOff(cause: Error): PlaneFault {
  return new PlaneFault('server_unusable', 'The MCP server broke off its response', { cause });
}

/** Resolves when the caller can take more, or has gone. */
export async function writeChunk(response: ServerResponse, chunk: Buffer): Promise<void> {
  if (response.destroyed || chunk.length === 0 || response.write(chunk)) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  const ignore = (): undefined => undefined;
  const drained = Promise.race([
    once(response, 'drain', { signal }).catch(ignore),
    once(response, 'close', { signal }).catch(ignore),
    sleep(stalledMs, 'stalled' as const, { signal }).catch(ignore),
  ]);
  if ((await drained) === 'stalled') response.destroy();
  waiting.abort();
}
