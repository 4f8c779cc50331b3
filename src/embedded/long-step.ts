/** Reports the progress of long steps. */

const intervalMs = 5_000;

/** Reports the elapsed time of `what` to `progress` every 5 seconds until `work` is done. */
export async function reportWhile<T>(
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
