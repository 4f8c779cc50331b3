/** Knows how long an answer is read on whose caller has gone. */
import { type Call, CallCut } from '../../upstream/call.ts';

/** Cuts the call off after so long, at once for 0; to be cleared when its answer has ended. */
export function linger(call: Call, lingerMs: number): NodeJS.Timeout | null {
  const cut = (): void => call.cut(new CallCut('the caller has gone'));
  if (lingerMs > 0) {
    // What has come is read first: in a busy process a timer would go before it.
    return setTimeout(() => setImmediate(cut), lingerMs);
  }
  cut();
  return null;
}
