/** Caches results of database reads for a few seconds, in bounded memory. */

export interface FreshCache<T> {
  /**
   * Returns what `load` resolved to at most `freshForMs` ago, or calls it. Concurrent callers share one
   * load; failures and `undefined` are not cached. `now` in milliseconds since the epoch.
   */
  get(key: string, now: number, load: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** Drops the oldest entries beyond `entriesMax`. */
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
      (loaded) => {
        if (loaded === undefined) forget(key, loading);
      },
      () => forget(key, loading),
    );
    return loading;
  };
  return {
    get: (key, now, read) => {
      const cached = entries.get(key);
      const age = cached === undefined ? -1 : now - cached.at;
      // After the clock was set back every entry counts as stale, so none lives longer.
      if (cached !== undefined && age >= 0 && age < bounds.freshForMs) return cached.value;
      return load(key, now, read());
    },
  };
}
