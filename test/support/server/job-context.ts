/** Knows how a test runs a job by itself, without a scheduler. */
import type { JobContext } from '../../../src/jobs/runner/job.ts';
import { createLog } from '../../../src/log.ts';
import type { Database } from '../../../src/store/connection/db.ts';

/** What a run of its own sees at `now`, milliseconds since the epoch; nobody can take it over. */
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
