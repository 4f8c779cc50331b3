/** Builds a job context, to run a job without a scheduler. */
import type { JobContext } from '../../../src/jobs/runner/job.ts';
import { createLog } from '../../../src/log.ts';
import type { Database } from '../../../src/store/connection/db.ts';

/**
 * The context of a run at `now`, in milliseconds since the epoch; no other replica can take it
 * over.
 */
export function jobContext(
  database: Database,
  now: number,
  signal: AbortSignal = new AbortController().signal,
): JobContext {
  return {
    db: database.db,
    transaction: (work) => database.transaction(work, 1),
    now,
    signal,
    log: createLog({ level: 'silent' }),
  };
}
