/** Knows when jobs run, and that of any number of replicas one runs each of them. */
/*
 * A run is a row of job_runs and nothing else; a process holds no state that another could miss.
 *
 *   (no row) --insert (name, bucket)--> running --close--> done | failed --7 days--> (deleted)
 *                                        |   ^
 *                          lease ends    v   |  conditional update: attempt + 1, a new owner
 *                                     abandoned
 *
 * `running` and `abandoned` are one state of the row, told apart by the lease on the database's
 * clock: there is no moment at which somebody must notice a death for it to be true. Every write of
 * an owner names owner and attempt, so that one who was replaced, and comes back, changes nothing.
 *
 * What may die, and what holds then. Before the insert: another replica's tick does the run. After
 * it: the lease ends and the next tick of any replica takes the row over, before it begins a new
 * bucket. In a batch: the batch is rolled back. Between the last batch and the close: the run is
 * repeated and finds nothing due. While the lease is renewed: the renewal is tried again within the
 * lease; too late, and the run is another's, which the owner learns at its next renewal and obeys at
 * its next batch.
 *
 * So two owners can work beside each other for a while. The row keeps replicas from doing the same
 * work, it is not what makes the work exact: that rests on the statements of each job
 * (docs/jobs.md, Exactness). A leader would need the same statements, and an election besides.
 *
 * Jobs of one process run one after another, because each takes what the database can give; a job
 * that still waits for its turn is not queued again, because the next run does everything that is due.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Cron } from 'croner';
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { Log } from '../log.ts';
import type { Database } from '../store/connection/db.ts';
import type { JobRunRow } from '../store/tables/job-runs.ts';
import * as jobRuns from '../store/tables/job-runs.ts';
import type { Job, JobCounts } from './job.ts';

const recordsKeptMs = 7 * 86_400_000;
const recordsDeletedMax = 1000;

export interface SchedulerOptions {
  readonly database: Database;
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  readonly log: Log;
  /** Unique to this process: host, pid and something random. */
  readonly owner: string;
  /** A replica that stops giving signs of life is replaced after this long. */
  readonly leaseMs?: number;
  /** Called after each run of this process. */
  readonly onRun?: (run: JobOutcome) => void;
}

export interface JobOutcome {
  readonly name: string;
  /** `skipped`: another replica has the run or did it. */
  readonly state: 'done' | 'failed' | 'skipped';
  readonly counts: JobCounts | null;
  readonly error: string | null;
  /** Greater than 1 when earlier owners of the run died. */
  readonly attempt: number;
  readonly durationMs: number;
}

export interface JobListing extends Pick<Job, 'name' | 'cron' | 'summary' | 'idleBecause'> {
  /** Milliseconds since the epoch; null when idle. */
  readonly nextRunAt: number | null;
  readonly lastRun: LastRun | null;
}

interface LastRun {
  /** `abandoned`: its owner died; the next tick takes it over. */
  readonly state: JobRunRow['state'] | 'abandoned';
  readonly owner: string;
  readonly attempt: number;
  readonly startedAt: number;
  /** Null while it runs. */
  readonly durationMs: number | null;
  readonly counts: JobCounts | null;
  readonly error: string | null;
}

export interface Scheduler {
  /** Begins to run jobs by their schedules. */
  start(): void;
  /** Starts nothing more and resolves when the current run has ended at its next safe point. */
  stop(): Promise<void>;
  /** Runs a job now, whatever its schedule. Throws a Failure when there is none of that name or it is idle. */
  runNow(name: string): Promise<JobOutcome>;
  list(): Promise<JobListing[]>;
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  return new CronScheduler(options);
}

class CronScheduler implements Scheduler {
  readonly #options: Required<SchedulerOptions>;
  readonly #stopping = new AbortController();
  #crons: Cron[] = [];
  readonly #waiting = new Set<string>();
  /** Ends when the run in progress and those waiting behind it have ended. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: SchedulerOptions) {
    this.#options = { leaseMs: 60_000, onRun: () => {}, ...options };
  }

  start(): void {
    for (const job of this.#options.jobs.filter(({ idleBecause }) => idleBecause === null)) {
      this.#crons.push(new Cron(job.cron, { timezone: 'UTC' }, () => this.#tick(job)));
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cron of this.#crons) cron.stop();
    await this.#tail;
  }

  async runNow(name: string): Promise<JobOutcome> {
    const job = this.#options.jobs.find((candidate) => candidate.name === name);
    if (job === undefined) {
      const names = this.#options.jobs.map((candidate) => candidate.name).join(', ');
      throw new Failure('invalidInput', `There is no job ${name}; jobs: ${names}.`);
    }
    if (job.idleBecause !== null) {
      throw new Failure('refusedByGuard', `${name} is idle because ${job.idleBecause}.`);
    }
    return this.#enqueue(() => this.#runOnce(job, this.#options.clock.now()));
  }

  async list(): Promise<JobListing[]> {
    const { database, clock, jobs } = this.#options;
    return Promise.all(
      jobs.map(async ({ name, cron, summary, idleBecause }) => {
        const [latest, live] = await Promise.all([
          jobRuns.findLatest(database.db, name),
          jobRuns.findLive(database.db, name),
        ]);
        const nextRunAt = idleBecause === null ? nextRun(cron, clock.now()) : null;
        const lastRun = latest === undefined ? null : describeRun(latest, live);
        return { name, cron, summary, idleBecause, nextRunAt, lastRun };
      }),
    );
  }

  /** A job that is still waiting for its turn is not queued a second time. */
  #tick(job: Job): void {
    if (this.#waiting.has(job.name) || this.#stopping.signal.aborted) return;
    this.#waiting.add(job.name);
    this.#enqueue(async () => {
      this.#waiting.delete(job.name);
      if (this.#stopping.signal.aborted) return;
      await this.#runOnce(job, scheduledAt(job.cron, this.#options.clock.now()));
    }).catch((error: unknown) => {
      this.#options.log.warn({ job: job.name, error: messageOf(error) }, 'job could not start');
    });
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => {});
    return done;
  }

  async #runOnce(job: Job, bucket: number): Promise<JobOutcome> {
    const now = this.#options.clock.now();
    const run = await this.#claim(job, bucket, now);
    if (run === null) {
      return {
        name: job.name,
        state: 'skipped',
        counts: null,
        error: null,
        attempt: 0,
        durationMs: 0,
      };
    }
    const outcome = await this.#execute(job, run, now);
    this.#options.onRun(outcome);
    return outcome;
  }

  /**
   * A live run elsewhere means there is nothing to do, and an abandoned one comes before a new one.
   * Asked in this order, a lease that ends between the two questions is seen by the second.
   */
  async #claim(job: Job, bucket: number, startedAt: number): Promise<jobRuns.RunKey | null> {
    const { owner, leaseMs } = this.#options;
    const { db } = this.#options.database;
    if ((await jobRuns.findLive(db, job.name)) !== undefined) return null;
    const abandoned = await jobRuns.findAbandoned(db, job.name);
    if (abandoned !== undefined) {
      return jobRuns.updateOwner(db, abandoned, { owner, startedAt, leaseMs });
    }
    return jobRuns.insertRun(db, { name: job.name, bucket, owner, startedAt, leaseMs });
  }

  async #execute(job: Job, run: jobRuns.RunKey, now: number): Promise<JobOutcome> {
    const { database, log } = this.#options;
    const began = performance.now();
    const lost = new AbortController();
    const ended = new AbortController();
    const keeping = this.#keepLease(run, lost, ended.signal);
    let counts: JobCounts | null = null;
    let error: string | null = null;
    try {
      const signal = AbortSignal.any([this.#stopping.signal, lost.signal]);
      counts = await job.run({ database, now, signal, log: log.child({ job: job.name }) });
      if (lost.signal.aborted) error = 'another replica took the run over';
      else if (signal.aborted) error = 'stopped before its end; the next run continues';
    } catch (thrown) {
      error = messageOf(thrown);
    }
    ended.abort();
    await keeping;
    const state = error === null ? 'done' : 'failed';
    const durationMs = performance.now() - began;
    await this.#close(run, state, counts, error);
    log[error === null ? 'debug' : 'error']({ job: job.name, counts, error }, `job ${state}`);
    return { name: job.name, state, counts, error, attempt: run.attempt, durationMs };
  }

  /** Extends the lease three times in its length until `ended`; aborts `lost` once it is no longer ours. */
  async #keepLease(run: jobRuns.RunKey, lost: AbortController, ended: AbortSignal): Promise<void> {
    const { database, leaseMs, log } = this.#options;
    const sleep = async (): Promise<boolean> => {
      try {
        await delay(leaseMs / 3, undefined, { signal: ended, ref: false });
        return true;
      } catch {
        return false;
      }
    };
    while (await sleep()) {
      try {
        if (await jobRuns.updateLease(database.db, run, leaseMs)) continue;
        lost.abort();
        return;
      } catch (error) {
        log.warn({ job: run.name, error: messageOf(error) }, 'job lease could not be extended');
      }
    }
  }

  /** A record that cannot be written is left to its lease: the next tick takes the run over. */
  async #close(
    run: jobRuns.RunKey,
    state: 'done' | 'failed',
    counts: JobCounts | null,
    error: string | null,
  ): Promise<void> {
    const { database, clock, log } = this.#options;
    try {
      const finishedAt = clock.now();
      await jobRuns.updateFinished(database.db, run, { state, finishedAt, counts, error });
      await jobRuns.deleteFinishedBefore(
        database.db,
        run.name,
        finishedAt - recordsKeptMs,
        recordsDeletedMax,
      );
    } catch (thrown) {
      log.warn({ job: run.name, error: messageOf(thrown) }, 'job run could not be recorded');
    }
  }
}

/** The latest moment not after `now` that the expression names: equal on every replica. */
function scheduledAt(cron: string, now: number): number {
  const [latest] = new Cron(cron, { timezone: 'UTC', paused: true }).previousRuns(
    1,
    new Date(now + 1),
  );
  return latest?.getTime() ?? now;
}

function nextRun(cron: string, now: number): number | null {
  return (
    new Cron(cron, { timezone: 'UTC', paused: true }).nextRun(new Date(now))?.getTime() ?? null
  );
}

function describeRun(run: JobRunRow, live: JobRunRow | undefined): LastRun {
  const abandoned = run.state === 'running' && live?.bucket !== run.bucket;
  return {
    state: abandoned ? 'abandoned' : run.state,
    owner: run.owner,
    attempt: run.attempt,
    startedAt: run.started_at,
    durationMs: run.finished_at === null ? null : run.finished_at - run.started_at,
    counts: run.counts === null ? null : (JSON.parse(run.counts) as JobCounts),
    error: run.error,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
