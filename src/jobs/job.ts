/** Knows what a job is: a name, a schedule, and one function; the scheduler does the rest. */
import type { Log } from '../log.ts';
import type { Database } from '../store/connection/db.ts';

/** What a run did, by what: `{expired: 12}`. */
export type JobCounts = Record<string, number>;

export interface JobContext {
  readonly database: Database;
  /** Milliseconds since the epoch, read once a run. */
  readonly now: number;
  /** Aborted when the process stops or the run was taken over: finish the batch and return. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface Job {
  readonly name: string;
  /** Five-field cron expression, UTC. */
  readonly cron: string;
  readonly summary: string;
  /** Why the job never runs here (a feature that is off); null when it does. */
  readonly idleBecause: string | null;
  /** Must be safe to run again, and beside itself: a dead replica's run is taken over. */
  readonly run: (context: JobContext) => Promise<JobCounts>;
}
