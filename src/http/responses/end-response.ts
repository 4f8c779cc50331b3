/** Ends responses with a body that is known completely. */
import type { ServerResponse } from 'node:http';

/** Above this size, copying costs more than a second write. */
export const joinedBytesMax = 16 * 1024;

/**
 * A string is sent together with the head in one system call; Latin-1 preserves every byte. `text` is the body
 * decoded as ASCII where the caller has it.
 */
export function endWith(response: ServerResponse, body: Buffer, text: string | null = null): void {
  if (body.length > joinedBytesMax) response.end(body);
  else response.end(text ?? body.toString('latin1'), 'latin1');
}
