/** Knows how large a request's body may be, in bytes and in values, so that reading one never holds up the others. */

/**
 * Nothing that a caller sends may hold the event loop for more than 50 ms. What is done with a body
 * costs time for each of its bytes or each of its values (a text, number, list or map, at any depth),
 * so both are bounded before anything else is done; bench/hostile-bodies.ts measures the rest.
 */
export interface BodyLimits {
  readonly bytesMax: number;
  readonly valuesMax: number;
}

/** For a route that says nothing else. */
export const usualBody: BodyLimits = { bytesMax: 256 * 1024, valuesMax: 5000 };

/** For what comes as a form: a handful of fields. */
export const formBody: BodyLimits = { bytesMax: 16 * 1024, valuesMax: 100 };

/** For documents of the caller's own making (configs, guardrails) and for long lists of ids. */
export const documentBody: BodyLimits = { bytesMax: 1024 * 1024, valuesMax: 20_000 };

/** For many changes at once: read with turns for others between them, each held against its own bounds. */
export const changeSetBody: BodyLimits = { bytesMax: 4 * 1024 * 1024, valuesMax: 100_000 };

/** Most keys that one map of a body may have. */
export const keysMax = 1000;

/** What makes a document too large for a body of a request, or null. */
export function documentSizeFault(document: unknown, { valuesMax }: BodyLimits): string | null {
  const pending = [document];
  for (let values = 1; pending.length > 0; values += 1) {
    if (values > valuesMax) return `holds more than ${valuesMax} values`;
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    const items: unknown[] = Object.values(value);
    if (!Array.isArray(value) && items.length > keysMax) {
      return `holds a map of more than ${keysMax} keys`;
    }
    for (const item of items) pending.push(item);
  }
  return null;
}
