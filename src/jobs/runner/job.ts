/** Knows what a job is: a name, a schedule, and one function; the scheduler does the rest. */
import type { Log } from '../../log.ts';
import type { Feature } from '../../settings.ts';
import type { Db } from '../../store/connection/db.ts';

/** What a run did, by what: `{expired: 12}`. */
export type JobCounts = Record<string, number>;

export interface JobContext {
  /** For reading; whatever a run writes goes through {@link transaction}. */
  readonly db: Db;
  /**
   * Runs `work` in one transaction that commits only while the run is this process's: once another
   * replica has taken it over, this throws a {@link RunLost} and nothing is changed.
   */
  readonly transaction: <T>(work: (tx: Db) => Promise<T>) => Promise<T>;
  /** Milliseconds since the epoch by the database's clock, read once a run. */
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
  /** Without which it has nothing to do: idle where it is switched off; null for what runs wherever jobs do. */
  readonly feature: Feature | null;
  /** Why the job never runs here; null when it does. */
  readonly idleBecause: string | null;
  /** Must be safe to run again, and beside itself: a dead replica's run is taken over. */
  readonly run: (context: JobContext) => Promise<JobCounts>;
}

/** Another replica took the run over, because this one gave no sign of life for too long. */
export class RunLost extends Error {
  override name = 'RunLost';

  constructor() {
    super('another replica took the run over');
  }
}

/** The end of a run that did its work but for some subjects, which it leaves to the next run. */
export class PartialRun extends Error {
  override name = 'PartialRun';
  readonly counts: JobCounts;

  constructor(message: string, counts: JobCounts) {
    super(message);
    this.counts = counts;
  }
}
