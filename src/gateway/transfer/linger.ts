/** Limits how long a response is read after its caller has gone. */
import { type Call, CallCut } from '../../upstream/call.ts';

/** Cuts the call after `lingerMs`, or at once for 0. The caller clears the timer when the response has ended. */
export function linger(call: Call, lingerMs: number): NodeJS.Timeout | null {
  const cut = (): void => call.cut(new CallCut('the caller disconnected'));
  if (lingerMs > 0) {
    // Reads pending data first, because in a busy process the timer would run before it.
    return setTimeout(() => setImmediate(cut), lingerMs);
  }
  cut();
  return null;
}
