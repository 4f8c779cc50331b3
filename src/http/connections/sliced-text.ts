/** Writes a long response slice by slice, at the speed of its reader. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PendingResponse } from './gated-socket.ts';

type Slices = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

export class SlicedText {
  readonly slices: Slices;
  /** Null when the total length is not known in advance. */
  readonly bytes: number | null;

  constructor(slices: Slices, bytes: number | null = null) {
    this.slices = slices;
    this.bytes = bytes;
  }
}

/**
 * Writes the slices and ends the response; its headers are set already. The next slice is requested when
 * the previous one is drained, and none after the reader has disconnected. Rejects with the error of a
 * slice; the caller must then destroy the connection to signal that the body is incomplete.
 */
export async function endWithSlices(response: PendingResponse, slices: Slices): Promise<void> {
  for await (const slice of slices) {
    if (isDisconnected(response) || response.req.method === 'HEAD') break;
    if (response.write(slice)) await nextTurn();
    else await drained(response);
  }
  if (!isDisconnected(response)) response.end();
}

/**
 * A response queued behind another gets no event when its connection closes, so the socket is checked too.
 */
function isDisconnected({ destroyed, req }: PendingResponse): boolean {
  return destroyed || req.socket.destroyed;
}

/** Resolves when the response can take more, or when the connection is closed. */
async function drained(response: PendingResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { socket } = response.req;
  response.once('drain', resolve);
  socket.once('close', resolve);
  await promise;
  response.off('drain', resolve);
  socket.off('close', resolve);
}
