/** Knows how a job goes through what is due: many at once, and one by one where that fails. */
import { type JobContext, type JobCounts, PartialRun, RunLost } from './job.ts';

/** Small enough to keep a writer waiting for less than a twentieth of a second. */
const batchMax = 250;
/** How many are looked for at once. */
const pageMax = 5_000;
/** A run that meets more than this many ends: the fault is not in the subjects. */
const failuresMax = 50;

export interface DueWork<T> {
  /** Up to `limit` of what is due, save `except`. */
  readonly list: (limit: number, except: readonly T[]) => Promise<readonly T[]>;
  /** What can be done together has the same text. */
  readonly sort: (one: T) => string;
  /** Does some of one sort, in one transaction. What it has done is due no more. */
  readonly work: (batch: readonly T[]) => Promise<void>;
  /** For people: `ApiKey 0199…`. */
  readonly describe: (one: T) => string;
}

/** Something due that could not be done. */
export interface Undone {
  readonly name: string;
  readonly error: unknown;
}

/**
 * Works until nothing is due or the run is to stop. What fails together is tried one by one, so that
 * one that cannot be done stops no other; those are left out, and yielded.
 */
export async function workThrough<T>(
  { signal, log }: JobContext,
  due: DueWork<T>,
): Promise<Undone[]> {
  const undone: (Undone & { readonly one: T })[] = [];
  const attempt = async (batch: readonly T[]): Promise<void> => {
    try {
      await due.work(batch);
    } catch (error) {
      if (error instanceof RunLost || undone.length > failuresMax) throw error;
      if (batch.length > 1) {
        for (const one of batch) await attempt([one]);
        return;
      }
      const name = due.describe(batch[0]!);
      log.error({ err: error, subject: name }, 'could not be done');
      undone.push({ name, error, one: batch[0]! });
    }
  };
  while (!signal.aborted) {
    const except = undone.map(({ one }) => one);
    const found = await due.list(pageMax, except);
    if (found.length === 0) break;
    for (const group of Map.groupBy(found, due.sort).values()) {
      for (let at = 0; at < group.length && !signal.aborted; at += batchMax) {
        await attempt(group.slice(at, at + batchMax));
      }
    }
  }
  return undone;
}

/**
 * The counts of a run.
 *
 * @throws PartialRun with the counts when something was left undone.
 */
export function countsOf(counts: JobCounts, undone: readonly Undone[]): JobCounts {
  const [first] = undone;
  if (first === undefined) return counts;
  const others = undone.length === 1 ? '' : ` and ${undone.length - 1} more`;
  const reason = first.error instanceof Error ? first.error.message : String(first.error);
  const message = `${first.name}${others} could not be done: ${reason}`;
  throw new PartialRun(message, { ...counts, failed: undone.length });
}
