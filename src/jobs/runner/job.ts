/** Defines a job: a name, a schedule and a function that the scheduler runs. */
import type { Log } from '../../log.ts';
import type { Feature } from '../../settings.ts';
import type { Db } from '../../store/connection/db.ts';

/** Results of a run by name: `{expired: 12}`. */
export type JobCounts = Record<string, number>;

export interface JobContext {
  /** For reads only; all writes of a run use {@link transaction}. */
  readonly db: Db;
  /**
   * Runs `work` in one transaction that commits only while this process owns the run. After another
   * replica has taken the run over, it throws {@link RunLost} and changes nothing.
   */
  readonly transaction: <T>(work: (tx: Db) => Promise<T>) => Promise<T>;
  /** Milliseconds since the epoch by the clock of the database, read once for each run. */
  readonly now: number;
  /** Aborted when the process stops or loses the run; the job then finishes its batch and returns. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface Job {
  readonly name: string;
  /** Five-field cron expression, UTC. */
  readonly cron: string;
  readonly summary: string;
  /** The job is idle while this feature is off; null for a job that always runs. */
  readonly feature: Feature | null;
  /** Why the job never runs with these settings; null when it runs. */
  readonly idleBecause: string | null;
  /** Must be safe to repeat and to run twice at once, because the run of a dead replica is taken over. */
  readonly run: (context: JobContext) => Promise<JobCounts>;
}

/** Another replica has taken the run over, because this one did not extend its lease in time. */
export class RunLost extends Error {
  override name = 'RunLost';

  constructor() {
    super('another replica took the run over');
  }
}

/** A run that completed except for some subjects, which the next run tries again. */
export class PartialRun extends Error {
  override name = 'PartialRun';
  readonly counts: JobCounts;

  constructor(message: string, counts: JobCounts) {
    super(message);
    this.counts = counts;
  }
}
