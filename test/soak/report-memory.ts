/** Measures the memory of a process for its parent, and ends with it; loaded before the product, with --expose-gc. */
import { writeHeapSnapshot } from 'node:v8';

export interface MemoryQuestion {
  /** A path to write a heap snapshot to; null to measure only. */
  readonly snapshot: string | null;
}

export interface MemoryAnswer {
  readonly heapBytes: number;
  readonly rssBytes: number;
}

process.on('message', ({ snapshot }: MemoryQuestion) => {
  // The second collection frees what finalisers of the first one released.
  globalThis.gc?.();
  globalThis.gc?.();
  if (snapshot !== null) writeHeapSnapshot(snapshot);
  const { heapUsed, external, rss } = process.memoryUsage();
  const answer: MemoryAnswer = { heapBytes: heapUsed + external, rssBytes: rss };
  process.send?.(answer);
});
process.on('disconnect', () => process.exit());
process.channel?.unref();
