/** Defines the limits on request bodies, in bytes and in values, so that one body never blocks other requests. */

/**
 * No request may hold the event loop for more than 50 ms. Processing a body takes time for each byte
 * and for each value (a text, number, list or map, at any depth). Both are therefore bounded before
 * any other step; bench/hostile-bodies.ts measures the steps after that.
 */
export interface BodyLimits {
  readonly bytesMax: number;
  readonly valuesMax: number;
}

/** Default of a route. */
export const defaultBodyLimits: BodyLimits = { bytesMax: 256 * 1024, valuesMax: 5000 };

/** Limits of form bodies, which have few fields. */
export const formBodyLimits: BodyLimits = { bytesMax: 16 * 1024, valuesMax: 100 };

/** Limits for documents that callers write (configs, guardrails) and for long lists of ids. */
export const documentBodyLimits: BodyLimits = { bytesMax: 1024 * 1024, valuesMax: 20_000 };

/** Limits of change sets. They are read in slices, and each change is held to its own limits as well. */
export const changeSetBodyLimits: BodyLimits = { bytesMax: 4 * 1024 * 1024, valuesMax: 100_000 };

/** The most keys that one map in a body may have. */
export const keysMax = 1000;

/** Returns why a document is too large for a request body, or null. */
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
