/** Processes due subjects in batches, and one by one when a batch fails. */
import { type JobContext, type JobCounts, PartialRun, RunLost } from './job.ts';

/** Small enough to delay a concurrent writer by less than 50 ms. */
const batchMax = 250;
/** Subjects that one query lists. */
const pageMax = 5_000;
/** A run ends after more failures than this, because their cause is not in the subjects. */
const failuresMax = 50;

export interface DueWork<T> {
  /** Up to `limit` due subjects, without those in `except`. */
  readonly list: (limit: number, except: readonly T[]) => Promise<readonly T[]>;
  /** Subjects with the same key can be processed together. */
  readonly groupKey: (subject: T) => string;
  /** Processes subjects of one group in one transaction, after which they are no longer due. */
  readonly work: (batch: readonly T[]) => Promise<void>;
  /** For logs: `ApiKey 0199…`. */
  readonly describe: (subject: T) => string;
}

/** A due subject that could not be processed. */
export interface FailedSubject {
  readonly name: string;
  readonly error: unknown;
}

/**
 * Processes subjects until none is due or the run must stop. A failed batch is repeated one by one, so
 * that one subject cannot block others. Returns the subjects that failed.
 */
export async function workThrough<T>(
  { signal, log }: JobContext,
  due: DueWork<T>,
): Promise<FailedSubject[]> {
  const failures: (FailedSubject & { readonly subject: T })[] = [];
  const attempt = async (batch: readonly T[]): Promise<void> => {
    try {
      await due.work(batch);
    } catch (error) {
      if (error instanceof RunLost || failures.length > failuresMax) throw error;
      if (batch.length > 1) {
        for (const subject of batch) await attempt([subject]);
        return;
      }
      const name = due.describe(batch[0]!);
      log.error({ err: error, subject: name }, 'subject could not be processed');
      failures.push({ name, error, subject: batch[0]! });
    }
  };
  while (!signal.aborted) {
    const except = failures.map(({ subject }) => subject);
    const subjects = await due.list(pageMax, except);
    if (subjects.length === 0) break;
    for (const group of Map.groupBy(subjects, due.groupKey).values()) {
      for (let at = 0; at < group.length && !signal.aborted; at += batchMax) {
        await attempt(group.slice(at, at + batchMax));
      }
    }
  }
  return failures;
}

/**
 * Returns the counts of a run.
 *
 * @throws PartialRun with the counts when a subject failed
 */
export function countsOf(counts: JobCounts, failures: readonly FailedSubject[]): JobCounts {
  const [first] = failures;
  if (first === undefined) return counts;
  const others = failures.length === 1 ? '' : ` and ${failures.length - 1} more`;
  const reason = first.error instanceof Error ? first.error.message : String(first.error);
  const message = `${first.name}${others} could not be processed: ${reason}`;
  throw new PartialRun(message, { ...counts, failed: failures.length });
}
