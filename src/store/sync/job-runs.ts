/** Knows the job_runs table: a unique row a run is its lock and its record, leased on the database's clock. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';

export interface JobRunRow {
  name: string;
  bucket: number;
  owner: string;
  state: 'running' | 'done' | 'failed';
  attempt: number;
  lease_until: number;
  started_at: number;
  finished_at: number | null;
  counts: string | null;
  error: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    job_runs: JobRunRow;
  }
}

const errorCharsMax = 2000;

/** Who runs what: `attempt` fences out an owner that was taken over. */
export interface RunKey {
  readonly name: string;
  /** Scheduled moment of the run, milliseconds since the epoch. */
  readonly bucket: number;
  readonly owner: string;
  readonly attempt: number;
}

/** The run is ours when this resolves to a key; null when somebody else has it or had it. */
export async function insertRun(
  db: Db,
  run: { name: string; bucket: number; owner: string; startedAt: number; leaseMs: number },
): Promise<RunKey | null> {
  const { name, bucket, owner } = run;
  const key = { name, bucket, owner, attempt: 1 };
  const inserting = db.insertInto('job_runs').values({
    ...key,
    state: 'running',
    lease_until: leaseUntil(run.leaseMs),
    started_at: run.startedAt,
    finished_at: null,
    counts: null,
    error: null,
  });
  return (await unlessDuplicate(inserting.execute())) ? key : null;
}

/** A run in progress whose owner gives signs of life. */
export function findLive(db: Db, name: string): Promise<JobRunRow | undefined> {
  return db
    .selectFrom('job_runs')
    .selectAll()
    .where('name', '=', name)
    .where('state', '=', 'running')
    .where('lease_until', '>', serverNowMs)
    .executeTakeFirst();
}

/** The oldest run whose owner died in the middle. */
export function findAbandoned(db: Db, name: string): Promise<JobRunRow | undefined> {
  return db
    .selectFrom('job_runs')
    .selectAll()
    .where('name', '=', name)
    .where('state', '=', 'running')
    .where('lease_until', '<=', serverNowMs)
    .orderBy('bucket')
    .executeTakeFirst();
}

/** Takes an abandoned run over; null when another one did, or its owner came back to life. */
export async function updateOwner(
  db: Db,
  abandoned: JobRunRow,
  by: { owner: string; startedAt: number; leaseMs: number },
): Promise<RunKey | null> {
  const attempt = abandoned.attempt + 1;
  const result = await db
    .updateTable('job_runs')
    .set({
      owner: by.owner,
      attempt,
      lease_until: leaseUntil(by.leaseMs),
      started_at: by.startedAt,
    })
    .where('name', '=', abandoned.name)
    .where('bucket', '=', abandoned.bucket)
    .where('attempt', '=', abandoned.attempt)
    .where('state', '=', 'running')
    .where('lease_until', '<=', serverNowMs)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) return null;
  return { name: abandoned.name, bucket: abandoned.bucket, owner: by.owner, attempt };
}

/**
 * True while the run is still ours; then nobody can take it over before the transaction ends. Call
 * it first in every transaction of a run.
 */
export async function lockOwned(tx: Db, run: RunKey): Promise<boolean> {
  const row = await tx
    .selectFrom('job_runs')
    .select('name')
    .where('name', '=', run.name)
    .where('bucket', '=', run.bucket)
    .where('owner', '=', run.owner)
    .where('attempt', '=', run.attempt)
    .where('state', '=', 'running')
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** True while the run is still ours. */
export async function updateLease(db: Db, run: RunKey, leaseMs: number): Promise<boolean> {
  const result = await ofRun(db, run)
    .set({ lease_until: leaseUntil(leaseMs) })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Closes the run; false when it was taken over meanwhile and is the other one's to close. */
export async function updateFinished(
  db: Db,
  run: RunKey,
  outcome: {
    state: 'done' | 'failed';
    finishedAt: number;
    counts: Record<string, number> | null;
    error: string | null;
  },
): Promise<boolean> {
  const result = await ofRun(db, run)
    .set({
      state: outcome.state,
      finished_at: outcome.finishedAt,
      counts: outcome.counts === null ? null : JSON.stringify(outcome.counts),
      error: outcome.error === null ? null : outcome.error.slice(0, errorCharsMax),
    })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The run that started last, in whatever state. */
export function findLatest(db: Db, name: string): Promise<JobRunRow | undefined> {
  return db
    .selectFrom('job_runs')
    .selectAll()
    .where('name', '=', name)
    .orderBy('bucket', 'desc')
    .executeTakeFirst();
}

/** Removes up to `limit` records of finished runs, so that the table stays small. */
export async function deleteFinishedBefore(
  db: Db,
  name: string,
  before: number,
  limit: number,
): Promise<void> {
  await db
    .deleteFrom('job_runs')
    .where('name', '=', name)
    .where('state', 'in', ['done', 'failed'])
    .where('finished_at', '<', before)
    .limit(limit)
    .execute();
}

function ofRun(db: Db, run: RunKey) {
  return db
    .updateTable('job_runs')
    .where('name', '=', run.name)
    .where('bucket', '=', run.bucket)
    .where('owner', '=', run.owner)
    .where('attempt', '=', run.attempt)
    .where('state', '=', 'running');
}

function leaseUntil(leaseMs: number): RawBuilder<number> {
  return sql<number>`${serverNowMs} + ${leaseMs}`;
}
