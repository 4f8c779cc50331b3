/** Applies the changes of callers to an active run: tool outputs and cancellation. */
import type { ToolOutputsSubmit } from '../../model/objects/run.ts';
import { statusAfter } from '../../model/objects/run-states.ts';
import type { Database } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import { ObjectError, type ObjectRequest } from '../object-request.ts';
import { expireIfOver, moveRun } from './move-run.ts';
import type { RunDriverPool } from './run-driver-pool.ts';
import { callsDetails, callsIn, type FunctionCall, isSearch, outputOf } from './step-calls.ts';

interface ChangeOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly drivers: RunDriverPool;
}

/** Attempts of a cancellation that conflicts with moves of a driver. */
const attemptsMax = 10;

/** The run, leased to this process, and the step that the outputs have completed. */
interface SubmittedOutputs {
  readonly run: StoredRun;
  readonly step: runSteps.StoredStep;
}

/**
 * Returns null if the run has received the same outputs before, from a client that retries without a
 * stream.
 *
 * @throws ObjectError unless the run waits for exactly these outputs, or has received them
 */
export async function submitOnce(
  options: ChangeOptions,
  run: StoredRun,
  body: ToolOutputsSubmit,
  { now, isRetry }: Pick<ObjectRequest, 'now' | 'isRetry'>,
): Promise<SubmittedOutputs | null> {
  try {
    return await submitOutputs(options, run, body, now);
  } catch (thrown) {
    const mayBeRepeated = isRetry && body.stream !== true;
    if (mayBeRepeated && (await hasReceived(options, run, body))) return null;
    throw thrown;
  }
}

async function submitOutputs(
  { database, drivers }: ChangeOptions,
  run: StoredRun,
  body: ToolOutputsSubmit,
  now: number,
): Promise<SubmittedOutputs> {
  if (run.pending_calls === null) throw noPendingCalls(run);
  const calls = JSON.parse(run.pending_calls) as FunctionCall[];
  const outputs = outputsOf(body, calls);
  const lease = drivers.newLease();
  const set = {
    status: 'queued',
    pending_calls: null,
    lease_owner: lease.owner,
    lease_until: lease.until,
    lease_count: 1,
  } as const;
  const when = { from: ['requires_action'], turn: run.turn, aliveAt: now } as const;
  const step = await database.transaction(async (tx) => {
    if (!(await runs.update(tx, run, when, set))) return null;
    const open = (await runSteps.listAll(tx, run)).at(-1)!;
    const details = callsDetails(callsIn(open.details), outputs);
    const ended = { status: 'completed', ended_at: now, details } as const;
    await runSteps.updateOpen(tx, run, ended);
    return { ...open, ...ended };
  });
  if (step === null) throw noPendingCalls(await readAgain(database, run, now));
  return { run: { ...run, ...set }, step };
}

async function hasReceived(
  { database }: Pick<ChangeOptions, 'database'>,
  run: StoredRun,
  { tool_outputs: submitted }: ToolOutputsSubmit,
): Promise<boolean> {
  const outputs = new Map(submitted.map(({ tool_call_id: id, output }) => [id, output]));
  const steps = await runSteps.listAll(database.db, run);
  return steps.some(({ status, details }) => {
    const calls = callsIn(details).filter((call) => !isSearch(call));
    const areThese = calls.every((call) => outputs.get(call.id) === outputOf(call));
    return status === 'completed' && calls.length > 0 && calls.length === outputs.size && areThese;
  });
}

/** @throws ObjectError for a run that has ended */
export async function cancelRun(
  { database, drivers }: ChangeOptions,
  read: StoredRun,
  now: number,
): Promise<StoredRun> {
  let run = read;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (run.status === 'cancelling') return run;
    if (statusAfter(run.status, 'cancel') === null) {
      throw new ObjectError('invalid_request', `The run has ended with status ${run.status}`);
    }
    const moved = await moveRun(database, run, { move: 'cancel', now });
    if (moved !== null) {
      await drivers.renewLease(run.id);
      return moved;
    }
    run = await readAgain(database, run, now);
  }
  throw new ObjectError('conflict', 'The run was changed concurrently too often: try again');
}

async function readAgain(
  database: ChangeOptions['database'],
  run: StoredRun,
  now: number,
): Promise<StoredRun> {
  const { organisation_id, thread_id: id } = run;
  const current = await runs.find(database.db, { organisation_id, id }, run.id);
  if (current === undefined) throw new ObjectError('not_found', 'The run does not exist');
  return expireIfOver(database, current, now);
}

/** @throws ObjectError unless each call has exactly one output and each output a call */
function outputsOf(
  { tool_outputs: submitted }: ToolOutputsSubmit,
  calls: readonly FunctionCall[],
): Map<string, string> {
  const outputs = new Map<string, string>();
  for (const [at, { tool_call_id: id, output }] of submitted.entries()) {
    const param = `tool_outputs[${at}].tool_call_id`;
    if (!calls.some((call) => call.id === id)) {
      throw new ObjectError('invalid_request', `${param}: is not a pending call of the run`, param);
    }
    if (outputs.has(id)) {
      throw new ObjectError('invalid_request', `${param}: occurs twice`, param);
    }
    outputs.set(id, output);
  }
  const missing = calls.map(({ id }) => id).filter((id) => !outputs.has(id));
  if (missing.length === 0) return outputs;
  const message = `tool_outputs: lacks the output of ${missing.join(', ')}: send all at once`;
  throw new ObjectError('invalid_request', message, 'tool_outputs');
}

function noPendingCalls({ status }: StoredRun): ObjectError {
  return new ObjectError('invalid_request', `The run has no pending calls: it is ${status}`);
}
