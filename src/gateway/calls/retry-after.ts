/** Parses how long a provider asks to wait before a retry. */
import type { ProviderHeaders } from '../../upstream/call.ts';

const number = /^\d+(?:\.\d+)?$/;
/** `Sun, 06 Nov 1994 08:49:37 GMT`; Date.parse alone accepts many other texts. */
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Reads milliseconds from vendor headers, or seconds or a date from the standard header; null for neither.
 * A date is compared with the `date` header of the response, or with `now` (milliseconds since the epoch).
 */
export function retryAfterMs(headers: ProviderHeaders, now: number): number | null {
  const ms = headers['retry-after-ms'] ?? headers['x-ms-retry-after-ms'];
  if (typeof ms === 'string' && number.test(ms)) return Math.ceil(Number(ms));
  const after = headers['retry-after'];
  if (typeof after !== 'string') return null;
  if (number.test(after)) return Math.ceil(Number(after) * 1000);
  const at = dateMs(after);
  return at === null ? null : Math.max(0, at - (dateMs(headers.date) ?? now));
}

function dateMs(text: string | string[] | undefined): number | null {
  if (typeof text !== 'string' || !httpDate.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
