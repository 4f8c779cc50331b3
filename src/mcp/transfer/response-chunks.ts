/** Reads the body of a server's response in chunks, and writes chunks to the caller with backpressure. */
import type { ServerResponse } from 'node:http';
import { bytesOf, drained } from '../../gateway/transfer/body-pieces.ts';
import type { Call } from '../../upstream/call.ts';
import { PlaneFault } from '../messages/plane-fault.ts';

/** A response whose body can be read once. */
export type LiveResponse = Pick<Call, 'status' | 'headers' | 'pipe' | 'resume' | 'cut'>;

/** A request to a server; its response can be read when it has begun. */
export type ServerCall = LiveResponse & Pick<Call, 'isSent' | 'responseStarted'>;

/** A caller that reads nothing for this time is disconnected. */
const stalledMs = 120_000;

/** @throws PlaneFault when the response breaks off */
export async function* chunksOf(call: LiveResponse): AsyncGenerator<Buffer> {
  try {
    yield* bytesOf(call);
  } catch (cause) {
    throw brokenOff(cause);
  }
}

/** Reads a body that is known to be short, which costs less than reading it in chunks. @throws PlaneFault when it breaks off */
export function wholeBody(call: LiveResponse): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  call.pipe({
    data: (chunk) => {
      chunks.push(chunk);
      return true;
    },
    end: () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
    fail: (cause) => reject(brokenOff(cause)),
  });
  return promise;
}

function brokenOff(cause: unknown): PlaneFault {
  return new PlaneFault('server_unusable', 'The MCP server broke off its response', { cause });
}

/** Resolves when the caller can take more, or has gone. */
export async function writeChunk(response: ServerResponse, chunk: Buffer): Promise<void> {
  if (response.destroyed || chunk.length === 0 || response.write(chunk)) return;
  const timer = setTimeout(() => response.destroy(), stalledMs);
  await drained(response);
  clearTimeout(timer);
}
