/** Table functions for run_steps: the steps of runs. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { rows } from '../rows/rows.ts';

export type StepStatus = 'in_progress' | 'completed' | 'cancelled' | 'failed' | 'expired';

interface RunStepRow {
  organisation_id: string;
  id: string;
  run_id: string;
  thread_id: string;
  assistant_id: string;
  /** Position in its run; two for each turn of the model: its message and its tool calls. */
  place: number;
  status: StepStatus;
  /** JSON object, as sent to callers. */
  details: string;
  /** Tokens of the turn, in its first step. */
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

/** A run whose owner has been checked. */
type Run = Readonly<{ organisation_id: string; id: string }>;

const table = rows('run_steps');

export const { insertMany: insert } = table;

const ofRun = ({ organisation_id, id }: Run) => ({ organisation_id, run_id: id });

export function find(db: Db, run: Run, id: string): Promise<StoredStep | undefined> {
  return table.find(db, { ...ofRun(run), id });
}

/** One page, and one more row when more exist. */
export function list(db: Db, run: Run, page: CreatedPage): Promise<StoredStep[]> {
  return createdPage(table.matching(db, ofRun(run)).selectAll(), page).execute();
}

/** All steps in their order. */
export function listAll(db: Db, run: Run): Promise<StoredStep[]> {
  return table.list(db, ofRun(run), { orderBy: ['place'] });
}

/** Updates the step in progress, of which a run has at most one. */
export async function updateOpen(
  tx: Db,
  run: Run,
  set: Readonly<Partial<Pick<StoredStep, 'status' | 'ended_at' | 'details'>>>,
): Promise<void> {
  await table.update(tx, { ...ofRun(run), status: 'in_progress' }, set);
}
