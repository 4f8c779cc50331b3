/** Knows answers of the database for a few seconds, in a bounded memory. */

export interface FreshCache<T> {
  /**
   * What `load` yielded for this key at most `freshForMs` ago, else what it yields now. Callers that
   * come while it loads share its answer; a failure and `undefined` are not kept.
   * `now` in milliseconds since the epoch.
   */
  get(key: string, now: number, load: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** Forgets the oldest entries beyond `entriesMax`. */
export function createFreshCache<T>(bounds: {
  readonly freshForMs: number;
  readonly entriesMax: number;
}): FreshCache<T> {
  const entries = new Map<
    string,
    { readonly at: number; readonly value: Promise<T | undefined> }
  >();
  const forget = (key: string, value: Promise<T | undefined>): void => {
    if (entries.get(key)?.value === value) entries.delete(key);
  };
  const load = (key: string, now: number, loading: Promise<T | undefined>) => {
    entries.delete(key);
    entries.set(key, { at: now, value: loading });
    if (entries.size > bounds.entriesMax) entries.delete(entries.keys().next().value!);
    loading.then(
      (found) => {
        if (found === undefined) forget(key, loading);
      },
      () => forget(key, loading),
    );
    return loading;
  };
  return {
    get: (key, now, read) => {
      const known = entries.get(key);
      const age = known === undefined ? -1 : now - known.at;
      // A clock that was set back makes every entry stale, never fresh for longer.
      if (known !== undefined && age >= 0 && age < bounds.freshForMs) return known.value;
      return load(key, now, read());
    },
  };
}
