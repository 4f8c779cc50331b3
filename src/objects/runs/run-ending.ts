/** Knows how a run gets from one state into another for good: one conditional statement, and with it what has to be written when it succeeds. */
import { hasEnded, type RunMove, type RunStatus, statusAfter } from '../../model/objects/run-states.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { RunWhen, StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { TurnRows } from './turn-rows.ts';

type Transactions = Pick<Database, 'transaction'>;

export interface Move {
  readonly move: RunMove;
  readonly now: number;
  /** What else of it changes. */
  readonly set?: Parameters<typeof runs.update>[3];
  /** What else has to hold. */
  readonly when?: Omit<RunWhen, 'from'>;
  /** Written with it. */
  readonly rows?: TurnRows;
  /** What becomes of the step that has not ended. */
  readonly openStep?: Parameters<typeof runSteps.updateOpen>[2];
}

/** Of a step that ends with its run. */
const stepStatuses = new Map<RunStatus, runSteps.StepStatus>([
  ['cancelled', 'cancelled'],
  ['failed', 'failed'],
  ['expired', 'expired'],
]);

/**
 * Yields the run as it is then; null where it was not as `run` says it is, or has no way from there.
 * Of a run that ends, a step that has not ended ends with it.
 */
export function moveRun(
  { transaction }: Transactions,
  run: StoredRun,
  { move, now, set = {}, when = {}, rows, openStep }: Move,
): Promise<StoredRun | null> {
  const to = statusAfter(run.status, move);
  if (to === null) return Promise.resolve(null);
  const isOver = hasEnded(to);
  const change = {
    ...{ status: to, ...set },
    ...(isOver
      ? { active: null, pending_calls: null, lease_owner: null, lease_until: null, ended_at: now }
      : {}),
  };
  const withTurn = { turn: run.turn, ...when };
  return transaction(async (tx) => {
    if (!(await runs.update(tx, run, { from: [run.status], ...withTurn }, change))) return null;
    if (openStep !== undefined) await runSteps.updateOpen(tx, run, openStep);
    // A run whose model has not answered has none.
    const status = stepStatuses.get(to);
    if (status !== undefined && run.turn > 0) {
      await runSteps.updateOpen(tx, run, { status, ended_at: now });
    }
    if (rows !== undefined) await insertRows(tx, rows);
    return { ...run, ...change };
  });
}

async function insertRows(tx: Db, { message, messageStep, callsStep }: TurnRows): Promise<void> {
  await threadMessages.insert(tx, message === null ? [] : [message]);
  await runSteps.insert(
    tx,
    [messageStep, callsStep].filter((row) => row !== null),
  );
}

/** The run as it is: one whose time is over has expired, whether anybody noticed or not. */
export async function settled(
  database: Pick<Database, 'db' | 'transaction'>,
  run: StoredRun,
  now: number,
): Promise<StoredRun> {
  if (run.expires_at > now || statusAfter(run.status, 'expire') === null) return run;
  const expired = await moveRun(database, run, { move: 'expire', now, when: { expiredAt: now } });
  if (expired !== null) return expired;
  const thread = { organisation_id: run.organisation_id, id: run.thread_id };
  return (await runs.find(database.db, thread, run.id)) ?? run;
}
