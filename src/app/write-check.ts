/** Knows whether the database takes changes, of which a ping says nothing. */

const holdFirstMs = 2_000;
const holdMaxMs = 60_000;

export interface WriteSources {
  /** When a change was last refused, by `performance.now()`; null when none was. */
  readonly writeRefusedAtMs: () => number | null;
  /** Rejects when the smallest of changes is not taken. */
  readonly tryWrite: () => Promise<void>;
}

/**
 * A check that says no from the moment a change is refused until one is taken again, and not before
 * some seconds have passed. Nothing is written while nothing is refused: real changes tell more than
 * any we could try, for a full disk still has room for a small one. That is also why a refusal soon
 * after a recovery doubles the seconds: otherwise traffic would come and go with every check.
 */
export function createWriteCheck(sources: WriteSources): () => Promise<boolean> {
  const { writeRefusedAtMs, tryWrite } = sources;
  let recoveredAtMs = Number.NEGATIVE_INFINITY;
  let holdMs = 0;
  let isRefusing = false;
  return async () => {
    const refusedAtMs = writeRefusedAtMs() ?? Number.NEGATIVE_INFINITY;
    if (refusedAtMs <= recoveredAtMs) return true;
    if (!isRefusing) {
      const isRelapse = refusedAtMs - recoveredAtMs < holdMaxMs;
      holdMs = isRelapse ? Math.min(2 * holdMs, holdMaxMs) : holdFirstMs;
      isRefusing = true;
    }
    if (performance.now() < refusedAtMs + holdMs) return false;
    const triedAtMs = performance.now();
    try {
      await tryWrite();
    } catch {
      return false;
    }
    // A refusal that came while we tried counts.
    recoveredAtMs = triedAtMs;
    isRefusing = false;
    return (writeRefusedAtMs() ?? 0) <= recoveredAtMs;
  };
}
