/** Measures how late a group of writes may be on this machine. */
import { open, rm } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';

/** Measures until the returned function is called, which resolves with the longest delay of a turn and of a sync in milliseconds. */
export function measureDelays(path: string): () => Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const over = new AbortController();
  const syncing = (async () => {
    let longestMs = 0;
    await using file = await open(path, 'w');
    while (!over.signal.aborted) {
      const beganMs = performance.now();
      await file.write('x'.repeat(4096), 0);
      await file.datasync();
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      await wait(5);
    }
    return longestMs;
  })();
  return async () => {
    over.abort();
    delays.disable();
    const longestMs = delays.max / 1e6 + (await syncing);
    await rm(path);
    return longestMs;
  };
}
