/** Knows how callers change a run that goes on: with the outputs of its calls, or by cancelling it. */
import type { ToolOutputsSubmit } from '../../model/objects/run.ts';
import { statusAfter } from '../../model/objects/run-states.ts';
import type { Database } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import { ObjectError, type ObjectRequest } from '../object-request.ts';
import type { RunDrivers } from './run-drivers.ts';
import { moveRun, settled } from './run-ending.ts';
import { callsDetails, callsIn, type FunctionCall, isSearch, outputOf } from './step-calls.ts';

interface ChangeOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly drivers: RunDrivers;
}

/** Of moves that meet those of a driver. */
const attemptsMax = 10;

/** The run, leased to this process, and the step that has ended with it. */
interface Submitted {
  readonly goingOn: StoredRun;
  readonly step: runSteps.StoredStep;
}

/**
 * Null where the run has had the very same outputs before, from a client that says that it has lost the
 * answer and wants no stream.
 *
 * @throws ObjectError unless the run waits for these outputs, or had them, and for no others
 */
export async function submitOnce(
  options: ChangeOptions,
  run: StoredRun,
  asked: ToolOutputsSubmit,
  { now, isRetry }: Pick<ObjectRequest, 'now' | 'isRetry'>,
): Promise<Submitted | null> {
  try {
    return await submitOutputs(options, run, asked, now);
  } catch (thrown) {
    const mayBeKnown = isRetry && asked.stream !== true;
    if (mayBeKnown && (await hasTaken(options, run, asked))) return null;
    throw thrown;
  }
}

async function submitOutputs(
  { database, drivers }: ChangeOptions,
  run: StoredRun,
  asked: ToolOutputsSubmit,
  now: number,
): Promise<Submitted> {
  if (run.pending_calls === null) throw notWaiting(run);
  const calls = JSON.parse(run.pending_calls) as FunctionCall[];
  const outputs = outputsOf(asked, calls);
  const lease = drivers.newLease();
  const set = {
    ...({ status: 'queued', pending_calls: null } as const),
    ...{ lease_owner: lease.owner, lease_until: lease.until, lease_count: 1 },
  };
  const when = { from: ['requires_action'], turn: run.turn, aliveAt: now } as const;
  const step = await database.transaction(async (tx) => {
    if (!(await runs.update(tx, run, when, set))) return null;
    const open = (await runSteps.listAll(tx, run)).at(-1)!;
    const details = callsDetails(callsIn(open.details), outputs);
    const ended = { status: 'completed', ended_at: now, details } as const;
    await runSteps.updateOpen(tx, run, ended);
    return { ...open, ...ended };
  });
  if (step === null) throw notWaiting(await again(database, run, now));
  return { goingOn: { ...run, ...set }, step };
}

async function hasTaken(
  { database }: Pick<ChangeOptions, 'database'>,
  run: StoredRun,
  { tool_outputs: given }: ToolOutputsSubmit,
): Promise<boolean> {
  const outputs = new Map(given.map(({ tool_call_id: id, output }) => [id, output]));
  const steps = await runSteps.listAll(database.db, run);
  return steps.some(({ status, details }) => {
    const calls = callsIn(details).filter((call) => !isSearch(call));
    const areThese = calls.every((call) => outputs.get(call.id) === outputOf(call));
    return status === 'completed' && calls.length > 0 && calls.length === outputs.size && areThese;
  });
}

/** @throws ObjectError for one that has ended */
export async function cancelRun(
  { database, drivers }: ChangeOptions,
  read: StoredRun,
  now: number,
): Promise<StoredRun> {
  let run = read;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (run.status === 'cancelling') return run;
    if (statusAfter(run.status, 'cancel') === null) {
      throw new ObjectError('invalid_request', `The run has ended: it is ${run.status}`);
    }
    const moved = await moveRun(database, run, { move: 'cancel', now });
    if (moved !== null) {
      await drivers.look(run.id);
      return moved;
    }
    run = await again(database, run, now);
  }
  throw new ObjectError('conflict', 'The run changes all the time: try again');
}

async function again(
  database: ChangeOptions['database'],
  run: StoredRun,
  now: number,
): Promise<StoredRun> {
  const { organisation_id, thread_id: id } = run;
  const found = await runs.find(database.db, { organisation_id, id }, run.id);
  if (found === undefined) throw new ObjectError('not_found', 'The thread has no run of this id');
  return settled(database, found, now);
}

/** @throws ObjectError unless each call has one output, and each output a call */
function outputsOf(
  { tool_outputs: given }: ToolOutputsSubmit,
  calls: readonly FunctionCall[],
): Map<string, string> {
  const outputs = new Map<string, string>();
  for (const [at, { tool_call_id: id, output }] of given.entries()) {
    const param = `tool_outputs[${at}].tool_call_id`;
    if (!calls.some((call) => call.id === id)) {
      throw new ObjectError('invalid_request', `${param}: the run waits for no such call`, param);
    }
    if (outputs.has(id)) {
      throw new ObjectError('invalid_request', `${param}: names a call for the second time`, param);
    }
    outputs.set(id, output);
  }
  const missing = calls.map(({ id }) => id).filter((id) => !outputs.has(id));
  if (missing.length === 0) return outputs;
  const message = `tool_outputs: has no output of ${missing.join(', ')}: send all at once`;
  throw new ObjectError('invalid_request', message, 'tool_outputs');
}

function notWaiting({ status }: StoredRun): ObjectError {
  return new ObjectError('invalid_request', `The run waits for no outputs: it is ${status}`);
}
