/** Knows how a text too long for one piece goes out: slice by slice, no faster than its reader takes them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PendingAnswer } from './gated-socket.ts';

type Slices = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

export class SlicedText {
  readonly slices: Slices;
  /** Null where only the last slice tells. */
  readonly bytes: number | null;

  constructor(slices: Slices, bytes: number | null = null) {
    this.slices = slices;
    this.bytes = bytes;
  }
}

/**
 * Ends the answer, whose headers are set, by these slices. Each is asked for when the one before has
 * been taken; none any more once the reader is gone. Rejects with what a slice throws: whoever waits
 * for the rest must then be told, by the end of the connection.
 */
export async function endWithSlices(response: PendingAnswer, slices: Slices): Promise<void> {
  for await (const slice of slices) {
    if (isGone(response) || response.req.method === 'HEAD') break;
    if (response.write(slice)) await nextTurn();
    else await taken(response);
  }
  if (!isGone(response)) response.end();
}

/** An answer that waits behind another is not told that its connection has ended. */
function isGone({ destroyed, req }: PendingAnswer): boolean {
  return destroyed || req.socket.destroyed;
}

/** Resolves when there is room for more, or nobody left to take it. */
async function taken(response: PendingAnswer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { socket } = response.req;
  response.once('drain', resolve);
  socket.once('close', resolve);
  await promise;
  response.off('drain', resolve);
  socket.off('close', resolve);
}
