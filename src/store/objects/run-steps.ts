/** Knows the run_steps table: what runs have done, each step once. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, isBetween } from '../rows/created-page.ts';

export type StepStatus = 'in_progress' | 'completed' | 'cancelled' | 'failed' | 'expired';

interface RunStepRow {
  organisation_id: string;
  id: string;
  run_id: string;
  thread_id: string;
  assistant_id: string;
  /** Within its run; two for each turn of the model: what it said, and what it called. */
  place: number;
  status: StepStatus;
  /** JSON object, as callers get it. */
  details: string;
  /** Of the turn, at its first step. */
  prompt_tokens: number;
  completion_tokens: number;
  created_at: number;
  ended_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    run_steps: RunStepRow;
  }
}

export type StoredStep = RunStepRow;

/** A run whose owner is known. */
type Run = Readonly<{ organisation_id: string; id: string }>;

export async function insert(db: Db, rows: readonly StoredStep[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('run_steps').values(rows).execute();
}

export function find(db: Db, run: Run, id: string): Promise<StoredStep | undefined> {
  return db
    .selectFrom('run_steps')
    .selectAll()
    .where('organisation_id', '=', run.organisation_id)
    .where('id', '=', id)
    .where('run_id', '=', run.id)
    .executeTakeFirst();
}

/** At most one more than the limit, which tells that there are more. */
export function list(db: Db, run: Run, page: CreatedPage): Promise<StoredStep[]> {
  return db
    .selectFrom('run_steps')
    .selectAll()
    .where('organisation_id', '=', run.organisation_id)
    .where('run_id', '=', run.id)
    .where(isBetween(page))
    .orderBy('created_at', page.order)
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute();
}

/** All of them, in the order in which they were done. */
export function listAll(db: Db, run: Run): Promise<StoredStep[]> {
  return db
    .selectFrom('run_steps')
    .selectAll()
    .where('organisation_id', '=', run.organisation_id)
    .where('run_id', '=', run.id)
    .orderBy('place')
    .execute();
}

/** Changes the step of a run that has not ended, of which there is one at most. */
export async function updateOpen(
  tx: Db,
  run: Run,
  set: Readonly<Partial<Pick<StoredStep, 'status' | 'ended_at' | 'details'>>>,
): Promise<void> {
  await tx
    .updateTable('run_steps')
    .set(set)
    .where('organisation_id', '=', run.organisation_id)
    .where('run_id', '=', run.id)
    .where('status', '=', 'in_progress')
    .execute();
}
