/** Changes the state of a run in one transaction, conditionally on its current state. */
import {
  hasEnded,
  type RunMove,
  type RunStatus,
  statusAfter,
} from '../../model/objects/run-states.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { RunCondition, StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { TurnRows } from './turn-rows.ts';

type Transactions = Pick<Database, 'transaction'>;

export interface RunTransition {
  readonly move: RunMove;
  readonly now: number;
  /** Further columns to change. */
  readonly set?: Parameters<typeof runs.update>[3];
  /** Further conditions. */
  readonly when?: Omit<RunCondition, 'from'>;
  /** Rows inserted in the same transaction. */
  readonly rows?: TurnRows;
  /** Changes of the step that is in progress. */
  readonly openStep?: Parameters<typeof runSteps.updateOpen>[2];
}

/** Status of an open step when its run ends. */
const stepStatuses = new Map<RunStatus, runSteps.StepStatus>([
  ['cancelled', 'cancelled'],
  ['failed', 'failed'],
  ['expired', 'expired'],
]);

/**
 * Returns the run after the move; null if it differs from `run` or the move is not allowed. When a run
 * ends, its open step ends with it.
 */
export function moveRun(
  { transaction }: Transactions,
  run: StoredRun,
  { move, now, set = {}, when = {}, rows, openStep }: RunTransition,
): Promise<StoredRun | null> {
  const to = statusAfter(run.status, move);
  if (to === null) return Promise.resolve(null);
  const isOver = hasEnded(to);
  const change = {
    status: to,
    ...set,
    ...(isOver
      ? { active: null, pending_calls: null, lease_owner: null, lease_until: null, ended_at: now }
      : {}),
  };
  const withTurn = { turn: run.turn, ...when };
  return transaction(async (tx) => {
    if (!(await runs.update(tx, run, { from: [run.status], ...withTurn }, change))) return null;
    if (openStep !== undefined) await runSteps.updateOpen(tx, run, openStep);
    // Before the first response of the model there is no step.
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

/** Returns the current run; a run whose time is over is marked as expired first. */
export async function expireIfOver(
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
