/** Runs jobs by their schedules. */
/*
 * Each process has its own scheduler: ticks of the cron expressions put jobs into one queue, and the first
 * process that claims a run executes it (job-run.ts). There is no leader.
 *
 * A run starts with the time of the database, which determines its bucket, so replicas with slightly
 * different clocks claim the same run. A process whose clock differs by more than a few seconds runs no
 * job: either clock may be wrong, and a job that trusts a wrong clock could expire keys years too early.
 *
 * The jobs of one process run one after another, because each uses the full capacity of the database. A
 * job that still waits in the queue is not queued again, because its run processes everything that is due.
 */
import { Cron } from 'croner';
import { describeDeviation, type SharedClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../store/connection/db.ts';
import type { JobRunRow } from '../../store/sync/job-runs.ts';
import * as jobRuns from '../../store/sync/job-runs.ts';
import type { Job, JobCounts } from './job.ts';
import { type JobOutcome, messageOf, runJob, unbegun } from './job-run.ts';

export interface SchedulerOptions {
  readonly database: Database;
  readonly jobs: readonly Job[];
  readonly clock: SharedClock;
  readonly log: Log;
  /** Unique to this process: host, process id and a random part. */
  readonly owner: string;
  /** Lifetime of the lease that a live replica extends; default one minute. */
  readonly leaseMs?: number;
  /** Called after each run of this process. */
  readonly onRun?: (run: JobOutcome) => void;
}

export interface JobListing extends Pick<Job, 'name' | 'cron' | 'summary' | 'idleBecause'> {
  /** Milliseconds since the epoch; null when idle. */
  readonly nextRunAt: number | null;
  readonly lastRun: LastRun | null;
}

interface LastRun {
  /** `abandoned`: the owner died; the next tick takes the run over. */
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
  /** Starts to run jobs by their schedules. */
  start(): void;
  /** Starts no further run and resolves when the current run has ended at its next safe point. */
  stop(): Promise<void>;
  /** Runs a job now, regardless of its schedule. @throws Failure when the job does not exist or is idle */
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
  /** Settles when the current run and those queued after it have ended. */
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
    return this.#enqueue(() => this.#runOnce(job, (now) => now));
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

  /** Does not queue a job that is queued already. */
  #tick(job: Job): void {
    if (this.#waiting.has(job.name) || this.#stopping.signal.aborted) return;
    this.#waiting.add(job.name);
    this.#enqueue(async () => {
      this.#waiting.delete(job.name);
      if (this.#stopping.signal.aborted) return;
      await this.#runOnce(job, (now) => scheduledAt(job.cron, now));
    }).catch((error: unknown) => {
      this.#options.log.warn({ job: job.name, error: messageOf(error) }, 'job could not start');
    });
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => {});
    return done;
  }

  async #runOnce(job: Job, bucketAt: (now: number) => number): Promise<JobOutcome> {
    const { clock, log, onRun } = this.#options;
    const reading = await clock.measure();
    const refusal = describeDeviation(reading);
    if (refusal !== null) log.error({ job: job.name, error: refusal }, 'job refused');
    const { now } = reading;
    const outcome =
      refusal === null
        ? await runJob(this.#options, job, { bucket: bucketAt(now), now }, this.#stopping.signal)
        : unbegun(job, 'failed', refusal);
    if (outcome.state !== 'skipped') onRun(outcome);
    return outcome;
  }
}

/** The latest time of the schedule up to `now`; equal on all replicas. */
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
  const isAbandoned = run.state === 'running' && live?.bucket !== run.bucket;
  return {
    state: isAbandoned ? 'abandoned' : run.state,
    owner: run.owner,
    attempt: run.attempt,
    startedAt: run.started_at,
    durationMs: run.finished_at === null ? null : run.finished_at - run.started_at,
    counts: run.counts === null ? null : (JSON.parse(run.counts) as JobCounts),
    error: run.error,
  };
}
