/** Runs a job once, from the claim of the run to its record. */
/*
 * A run is a row of job_runs; no process has state beside it that another process could miss.
 *
 *   (no row) --insert (name, bucket)--> running --close--> done | failed --7 days--> (deleted)
 *                                        |   ^
 *                          lease ends    v   |  conditional update: attempt + 1, a new owner
 *                                     abandoned
 *
 * `running` and `abandoned` are one state of the row; the lease, by the clock of the database, tells which
 * one applies. No process has to notice the death of an owner.
 *
 * An owner may be slow instead of dead: after a freeze or a network failure it may resume while its
 * successor runs. Each transaction of a run therefore first locks the row by owner and attempt. If the
 * row is not found, the transaction changes nothing. If it is found, the update of a successor waits
 * until the transaction has ended.
 *
 * Effects of a crash:
 * - Before the insert: the tick of another replica does the run.
 * - After the insert: the lease expires, and the next tick of any replica takes the row over before it
 *   starts a new bucket.
 * - In a batch: the batch is rolled back.
 * - Between the last batch and the close: the run is repeated and finds nothing due.
 * A renewal of the lease that fails is repeated while the lease lasts. After that, another replica may own
 * the run; the former owner finds out at its next renewal or batch.
 *
 * The row prevents duplicate work. Exactness does not depend on it, but on the statements of each job
 * (docs/explanation/jobs.md, Exactness). A leader would need the same statements and an election as well.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { Database } from '../../store/connection/db.ts';
import * as jobRuns from '../../store/sync/job-runs.ts';
import { type Job, type JobContext, type JobCounts, PartialRun, RunLost } from './job.ts';

const recordRetentionMs = 7 * 86_400_000;
const recordsDeletedMax = 1000;
/** No retry: a job splits a failed batch, and runs again within a minute. */
const attemptsMax = 1;

export interface JobOutcome {
  readonly name: string;
  /** `skipped`: another replica owns the run or has completed it. */
  readonly state: 'done' | 'failed' | 'skipped';
  readonly counts: JobCounts | null;
  readonly error: string | null;
  /** Greater than 1 when earlier owners of the run died; 0 when the run did not start in this process. */
  readonly attempt: number;
  readonly durationMs: number;
}

/** The process that runs jobs, and the database that records the runs. */
export interface Runner {
  readonly database: Database;
  readonly log: Log;
  /** Unique to this process: host, process id and a random part. */
  readonly owner: string;
  /** Lifetime of the lease that a live replica extends. */
  readonly leaseMs: number;
}

/**
 * Runs a job if the run of `bucket` or an abandoned earlier one is available. `now` is the time of the
 * database; `stopping` ends the run at its next safe point.
 */
export async function runJob(
  runner: Runner,
  job: Job,
  at: { readonly bucket: number; readonly now: number },
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const run = await claim(runner, job, at.bucket, at.now);
  if (run === null) return unbegun(job, 'skipped', null);
  const outcome = await execute(runner, job, run, at.now, stopping);
  await close(runner, run, outcome, at.now);
  const { counts, error, state } = outcome;
  runner.log[error === null ? 'debug' : 'error']({ job: job.name, counts, error }, `job ${state}`);
  return outcome;
}

/** Outcome of a run that did not start in this process. */
export function unbegun(
  { name }: Job,
  state: 'skipped' | 'failed',
  error: string | null,
): JobOutcome {
  return { name, state, counts: null, error, attempt: 0, durationMs: 0 };
}

/**
 * Null when another replica has a live run. An abandoned run takes precedence over a new one. In this
 * order, the second query sees a lease that expires between the two.
 */
async function claim(
  { database, owner, leaseMs }: Runner,
  job: Job,
  bucket: number,
  startedAt: number,
): Promise<jobRuns.JobRunKey | null> {
  const { db } = database;
  if ((await jobRuns.findLive(db, job.name)) !== undefined) return null;
  const abandoned = await jobRuns.findAbandoned(db, job.name);
  if (abandoned !== undefined) {
    return jobRuns.updateOwner(db, abandoned, { owner, startedAt, leaseMs });
  }
  return jobRuns.insertRun(db, { name: job.name, bucket, owner, startedAt, leaseMs });
}

async function execute(
  runner: Runner,
  job: Job,
  run: jobRuns.JobRunKey,
  now: number,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const began = performance.now();
  const lost = new AbortController();
  const ended = new AbortController();
  const keeping = keepLease(runner, run, lost, ended.signal);
  const signal = AbortSignal.any([stopping, lost.signal]);
  const end = await attempt(job, {
    db: runner.database.db,
    transaction: fenced(runner.database, run, lost),
    now,
    signal,
    log: runner.log.child({ job: job.name }),
  });
  const error = lost.signal.aborted
    ? new RunLost().message
    : (end.error ?? (signal.aborted ? 'stopped before its end; the next run continues' : null));
  ended.abort();
  await keeping;
  return {
    name: job.name,
    state: error === null ? 'done' : 'failed',
    counts: end.counts,
    error,
    attempt: run.attempt,
    durationMs: performance.now() - began,
  };
}

async function attempt(
  job: Job,
  context: JobContext,
): Promise<{ counts: JobCounts | null; error: string | null }> {
  try {
    return { counts: await job.run(context), error: null };
  } catch (thrown) {
    const counts = thrown instanceof PartialRun ? thrown.counts : null;
    return { counts, error: messageOf(thrown) };
  }
}

function fenced(
  database: Database,
  run: jobRuns.JobRunKey,
  lost: AbortController,
): JobContext['transaction'] {
  return (work) =>
    database.transaction(async (tx) => {
      if (!(await jobRuns.lockOwned(tx, run))) {
        lost.abort();
        throw new RunLost();
      }
      return work(tx);
    }, attemptsMax);
}

/** Extends the lease every third of its lifetime until `ended`; aborts `lost` when another replica owns the run. */
async function keepLease(
  { database, leaseMs, log }: Runner,
  run: jobRuns.JobRunKey,
  lost: AbortController,
  ended: AbortSignal,
): Promise<void> {
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

/** If the record cannot be written, the lease expires and the next tick takes the run over. */
async function close(
  { database, log }: Runner,
  run: jobRuns.JobRunKey,
  { state, counts, error, durationMs }: JobOutcome,
  startedAt: number,
): Promise<void> {
  if (state === 'skipped') return;
  const finishedAt = startedAt + Math.round(durationMs);
  try {
    await jobRuns.updateFinished(database.db, run, { state, finishedAt, counts, error });
    await jobRuns.deleteFinishedBefore(
      database.db,
      run.name,
      finishedAt - recordRetentionMs,
      recordsDeletedMax,
    );
  } catch (thrown) {
    log.warn({ job: run.name, error: messageOf(thrown) }, 'job run could not be recorded');
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
