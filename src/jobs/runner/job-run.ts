/** Knows one run of a job, from its claim to its record. */
/*
 * A run is a row of job_runs and nothing else; a process holds no state that another could miss.
 *
 *   (no row) --insert (name, bucket)--> running --close--> done | failed --7 days--> (deleted)
 *                                        |   ^
 *                          lease ends    v   |  conditional update: attempt + 1, a new owner
 *                                     abandoned
 *
 * `running` and `abandoned` are one state of the row, told apart by the lease on the database's
 * clock: there is no moment at which somebody must notice a death for it to be true.
 *
 * An owner may be slow instead of dead: frozen, or cut off from the database, it may come back after
 * its successor began. So each transaction of a run first locks the row as its owner knows it (owner
 * and attempt). Where that finds nothing, the transaction changes nothing; where it finds the row,
 * a successor's update waits until the transaction has ended.
 *
 * What may die, and what holds then. Before the insert: another replica's tick does the run. After
 * it: the lease ends and the next tick of any replica takes the row over, before it begins a new
 * bucket. In a batch: the batch is rolled back. Between the last batch and the close: the run is
 * repeated and finds nothing due. While the lease is renewed: the renewal is tried again within the
 * lease; too late, and the run is another's, which the owner learns at its next renewal or batch.
 *
 * The row keeps replicas from doing the same work, it is not what makes the work exact: that rests
 * on the statements of each job (docs/explanation/jobs.md, Exactness). A leader would need the same statements,
 * and an election besides.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { Database } from '../../store/connection/db.ts';
import * as jobRuns from '../../store/sync/job-runs.ts';
import { type Job, type JobContext, type JobCounts, PartialRun, RunLost } from './job.ts';

const recordsKeptMs = 7 * 86_400_000;
const recordsDeletedMax = 1000;
/** Not tried again as it is: a job takes what failed apart, and comes back in a minute. */
const attemptsMax = 1;

export interface JobOutcome {
  readonly name: string;
  /** `skipped`: another replica has the run or did it. */
  readonly state: 'done' | 'failed' | 'skipped';
  readonly counts: JobCounts | null;
  readonly error: string | null;
  /** Greater than 1 when earlier owners of the run died; 0 when it did not begin here. */
  readonly attempt: number;
  readonly durationMs: number;
}

/** Who runs, and where it is recorded. */
export interface Runner {
  readonly database: Database;
  readonly log: Log;
  /** Unique to this process: host, pid and something random. */
  readonly owner: string;
  /** A replica that stops giving signs of life is replaced after this long. */
  readonly leaseMs: number;
}

/**
 * Runs a job if the run of `bucket`, or an abandoned earlier one, is to be had. `now` is the
 * database's time, and `stopping` ends the run at its next safe point.
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

/** The outcome of a run that did not begin here. */
export function unbegun(
  { name }: Job,
  state: 'skipped' | 'failed',
  error: string | null,
): JobOutcome {
  return { name, state, counts: null, error, attempt: 0, durationMs: 0 };
}

/**
 * A live run elsewhere means there is nothing to do, and an abandoned one comes before a new one.
 * Asked in this order, a lease that ends between the two questions is seen by the second.
 */
async function claim(
  { database, owner, leaseMs }: Runner,
  job: Job,
  bucket: number,
  startedAt: number,
): Promise<jobRuns.RunKey | null> {
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
  run: jobRuns.RunKey,
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
  run: jobRuns.RunKey,
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

/** Extends the lease three times in its length until `ended`; aborts `lost` once it is no longer ours. */
async function keepLease(
  { database, leaseMs, log }: Runner,
  run: jobRuns.RunKey,
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

/** A record that cannot be written is left to its lease: the next tick takes the run over. */
async function close(
  { database, log }: Runner,
  run: jobRuns.RunKey,
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
      finishedAt - recordsKeptMs,
      recordsDeletedMax,
    );
  } catch (thrown) {
    log.warn({ job: run.name, error: messageOf(thrown) }, 'job run could not be recorded');
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
