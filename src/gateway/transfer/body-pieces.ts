/** Reads the body of a response piece by piece, and waits for the caller to take what was written. */
import type { ServerResponse } from 'node:http';
import type { Call } from '../../upstream/call.ts';

/** Bytes that are read ahead while earlier bytes are processed. */
const aheadBytesMax = 64 * 1024;

/** Yields the body in pieces; each contains all bytes that arrived while the previous one was processed. */
export async function* bytesOf(call: Pick<Call, 'pipe' | 'resume'>): AsyncGenerator<Buffer> {
  let received: Buffer[] = [];
  let receivedBytes = 0;
  let ending: { readonly error: Error | null } | null = null;
  let wake = (): void => {};
  call.pipe({
    data: (bytes) => {
      received.push(bytes);
      receivedBytes += bytes.length;
      wake();
      return receivedBytes < aheadBytesMax;
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
    if (received.length > 0) {
      const bytes = received.length === 1 ? received[0]! : Buffer.concat(received);
      received = [];
      receivedBytes = 0;
      call.resume();
      yield bytes;
      continue;
    }
    const end = endingNow();
    if (end?.error != null) throw end.error;
    if (end !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await promise;
  }
}

/** Resolves when the caller has received the written bytes or has disconnected. */
export async function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once('drain', resolve).once('close', resolve);
  await promise;
  response.off('drain', resolve).off('close', resolve);
}
