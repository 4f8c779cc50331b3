/** Checks whether the database accepts writes, which a ping does not show. */

const holdFirstMs = 2_000;
const holdMaxMs = 60_000;

export interface WriteSources {
  /** Time of the last refused write, by `performance.now()`; null when none was refused. */
  readonly writeRefusedAtMs: () => number | null;
  /** Rejects when a minimal write fails. */
  readonly tryWrite: () => Promise<void>;
}

/**
 * Returns a check that is false from the first refused write until a test write succeeds, which is
 * tried after some seconds. Without a refusal nothing is written: real writes show more than a small
 * one, for which a full disk may still have room. For the same reason a refusal soon after a recovery
 * doubles the delay; otherwise traffic would alternate with every check.
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
    // A refusal during the test write counts.
    recoveredAtMs = triedAtMs;
    isRefusing = false;
    return (writeRefusedAtMs() ?? 0) <= recoveredAtMs;
  };
}
