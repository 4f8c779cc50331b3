/** Runs a script in a thread of its own, and returns what it posts. */
import { Worker } from 'node:worker_threads';

/** Half of the memory of a machine with 24 GiB; only the full size needs more than the usual 4 GiB. */
const maxOldGenerationSizeMb = 12_288;

/** `script` is a file of this folder. */
export function runThread<T>(script: string, workerData: unknown): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const worker = new Worker(new URL(script, import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb },
  });
  worker.once('message', resolve);
  worker.once('error', reject);
  return promise;
}
