/** Table functions for job_runs. The row of a run is both its lock and its record; leases use the database's clock. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import { lessThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

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

/** Identifies a run and its owner. `attempt` rejects writes of an owner that was replaced. */
export interface JobRunKey {
  readonly name: string;
  /** Scheduled time of the run, milliseconds since the epoch. */
  readonly bucket: number;
  readonly owner: string;
  readonly attempt: number;
}

const table = rows('job_runs');

/** Claims a run; returns null when another process has claimed it. */
export async function insertRun(
  db: Db,
  run: { name: string; bucket: number; owner: string; startedAt: number; leaseMs: number },
): Promise<JobRunKey | null> {
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

/** A run in progress with a valid lease. */
export function findLive(db: Db, name: string): Promise<JobRunRow | undefined> {
  return db
    .selectFrom('job_runs')
    .selectAll()
    .where('name', '=', name)
    .where('state', '=', 'running')
    .where('lease_until', '>', serverNowMs)
    .executeTakeFirst();
}

/** The oldest run in progress whose lease has expired. */
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

/** Takes over an abandoned run; returns null when another process did, or its owner renewed the lease. */
export async function updateOwner(
  db: Db,
  abandoned: JobRunRow,
  by: { owner: string; startedAt: number; leaseMs: number },
): Promise<JobRunKey | null> {
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
 * Returns whether the process still owns the run; if so, no process can take it over until the
 * transaction ends. Call it first in every transaction of a run.
 */
export async function lockOwned(tx: Db, run: JobRunKey): Promise<boolean> {
  return (await table.findForUpdate(tx, owned(run))) !== undefined;
}

/** Renews the lease; returns whether the process still owns the run. */
export async function updateLease(db: Db, run: JobRunKey, leaseMs: number): Promise<boolean> {
  return (await table.update(db, owned(run), { lease_until: leaseUntil(leaseMs) })) > 0;
}

/** Finishes the run; returns false when another process has taken it over. */
export async function updateFinished(
  db: Db,
  run: JobRunKey,
  outcome: {
    state: 'done' | 'failed';
    finishedAt: number;
    counts: Record<string, number> | null;
    error: string | null;
  },
): Promise<boolean> {
  const updated = await table.update(db, owned(run), {
    state: outcome.state,
    finished_at: outcome.finishedAt,
    counts: outcome.counts === null ? null : JSON.stringify(outcome.counts),
    error: outcome.error === null ? null : outcome.error.slice(0, errorCharsMax),
  });
  return updated > 0;
}

/** The run that was scheduled last, in any state. */
export function findLatest(db: Db, name: string): Promise<JobRunRow | undefined> {
  return table.findFirst(db, { name }, { orderBy: ['bucket desc'] });
}

/** Up to `limit` jobs after a name whose last run has failed. */
export async function listFailing(
  db: Db,
  after: string,
  limit: number,
): Promise<{ readonly name: string; readonly finished_at: number }[]> {
  const { rows } = await sql<{ name: string; finished_at: number | string }>`
    SELECT r.name, r.finished_at FROM job_runs r
    JOIN (SELECT name, MAX(bucket) AS bucket FROM job_runs WHERE name > ${after} GROUP BY name) l
      ON l.name = r.name AND l.bucket = r.bucket
    WHERE r.state = 'failed' ORDER BY r.name LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({ name: row.name, finished_at: Number(row.finished_at) }));
}

/** Deletes up to `limit` records of finished runs. */
export async function deleteFinishedBefore(
  db: Db,
  name: string,
  before: number,
  limit: number,
): Promise<void> {
  const where = { name, state: ['done', 'failed'], finished_at: lessThan(before) } as const;
  await table.delete(db, where, { limit });
}

const owned = ({ name, bucket, owner, attempt }: JobRunKey) => ({
  name,
  bucket,
  owner,
  attempt,
  state: 'running' as const,
});

function leaseUntil(leaseMs: number): RawBuilder<number> {
  return sql<number>`${serverNowMs} + ${leaseMs}`;
}
