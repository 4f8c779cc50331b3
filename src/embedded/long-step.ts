/** Knows how a step that takes long shows that it goes on. */

const intervalMs = 5_000;

/** Tells `progress` every five seconds, until `work` is done, how long `what` has been taking. */
export async function tellWhile<T>(
  progress: (line: string) => void,
  what: string,
  work: Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    progress(`still ${what}, ${Math.round((performance.now() - startedAt) / 1000)} s so far`);
  }, intervalMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
