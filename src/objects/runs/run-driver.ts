/** Drives a run from its claim until it ends or waits for the caller, turn by turn. */
/*
 * The state of a run is its row. A driver holds a lease on the row under a name that is never reused. It
 * writes its results in one transaction, whose first statement requires the status, the turn and the name
 * that it knows. A driver that was declared dead but still runs therefore writes nothing: no step and no
 * tokens are recorded twice. The successor of a dead driver repeats its model call from the row and the
 * steps; a response that was not written is lost, except for its charge against the limits. A search that
 * the model calls is recorded before it is executed.
 */
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import type { ModelCaller, ModelCalls, ModelCallsFactory } from '../model-calls.ts';
import type { StoreSearch } from '../store-search.ts';
import { abortableCalls, callModel, readPromptParts } from './call-model.ts';
import { DrivenRun, type DrivenRunOptions } from './driven-run.ts';
import { runSearches } from './file-search.ts';
import type { ModelTurn } from './model-turn.ts';
import { exhaustedLimit, type PromptParts } from './prompt.ts';
import { runRecord } from './records.ts';
import type { RunEvents } from './run-events.ts';
import { asFunction, callsDetails, isSearch, type StepCall } from './step-calls.ts';
import { turnCalls, turnEnding } from './turn-ending.ts';
import { turnRows } from './turn-rows.ts';

export interface RunDriverOptions extends DrivenRunOptions {
  readonly callsOf: ModelCallsFactory;
  readonly search: StoreSearch;
  readonly leaseMs: number;
}

/** Maximum drivers of one run, because a run may kill its drivers. */
const leasesMax = 5;

export class RunDriver {
  readonly #options: RunDriverOptions;
  readonly #owner: string;
  readonly #run: DrivenRun;
  readonly #abort = new AbortController();

  /** `run` as claimed by `owner`; `events` receives its progress. */
  constructor(run: StoredRun, owner: string, options: RunDriverOptions, events: RunEvents | null) {
    this.#run = new DrivenRun(run, owner, options, events);
    this.#owner = owner;
    this.#options = options;
  }

  /** Ends when the run rests or belongs to another driver; rejects when the database fails. */
  async run(): Promise<void> {
    const run = this.#run;
    if (run.row.status === 'cancelling') return run.handleConflict();
    if (run.row.lease_count > leasesMax) {
      return run.fail({ code: 'server_error', message: 'Every process that drove the run died' });
    }
    const now = this.#options.now();
    const set = { started_at: run.row.started_at ?? now };
    if (!(await run.move({ move: 'begin', now, set, when: { aliveAt: now } }))) {
      return run.handleConflict();
    }
    run.events?.emit('thread.run.in_progress', runRecord(run.row));
    const caller = JSON.parse(run.row.caller) as ModelCaller;
    const models = abortableCalls(this.#options.callsOf(caller), this.#abort.signal);
    let goesOn = true;
    while (goesOn) {
      const parts = await readPromptParts(this.#options.database, run.row);
      run.beginTurn(parts.steps);
      const open = parts.steps.find(({ status }) => status === 'in_progress');
      goesOn = await (open === undefined
        ? this.#turn(parts, models)
        : this.#search(parts, open, { caller, models }));
    }
  }

  /** Extends the lease; aborts the driver if the run must not continue. */
  async renewLease(): Promise<void> {
    const { database, now, leaseMs } = this.#options;
    const at = now();
    const goesOn = await runs.update(
      database.db,
      this.#run.row,
      { from: ['queued', 'in_progress'], owner: this.#owner, aliveAt: at },
      { lease_until: at + leaseMs },
    );
    if (!goesOn) this.#abort.abort();
  }

  /** Releases the run for other processes at once. */
  async release(): Promise<void> {
    const { database, now } = this.#options;
    this.#abort.abort();
    await runs.update(
      database.db,
      this.#run.row,
      { from: ['queued', 'in_progress', 'cancelling'], owner: this.#owner },
      { lease_until: now() },
    );
  }

  /** Returns whether the run continues without the caller. */
  async #turn(parts: PromptParts, models: ModelCalls): Promise<boolean> {
    const run = this.#run;
    const bound = exhaustedLimit(parts);
    if (bound !== null) return rest(run.end({ move: 'cut', failure: { reason: bound } }));
    const onText = run.events === null ? null : (text: string) => run.turnEvents.addText(text);
    const result = await callModel(parts, models, onText);
    if (this.#abort.signal.aborted) return rest(run.handleConflict());
    if ('code' in result) return rest(run.fail(result));
    const ending = turnEnding(result);
    if (ending !== null) return rest(run.end(ending));
    const calls = turnCalls(result, parts);
    return 'code' in calls ? rest(run.fail(calls)) : this.#recordCalls(result, calls);
  }

  /** Records the calls of the model, for the caller or for a search. */
  async #recordCalls(turn: ModelTurn, calls: readonly StepCall[]): Promise<boolean> {
    const run = this.#run;
    const now = this.#options.now();
    const rows = turnRows(
      run.row,
      run.turnEvents.ids,
      { ...turn, calls },
      {
        status: 'completed',
        endedAt: now,
        reason: null,
        steps: run.steps,
      },
    );
    const isSearching = calls.some(isSearch);
    const moved = await run.move({
      move: isSearching ? 'search' : 'ask',
      now,
      rows,
      set: { ...run.usageWith(turn), ...(isSearching ? { lease_count: 1 } : waitingFor(calls)) },
    });
    if (!moved) return rest(run.handleConflict());
    run.turnEvents.emitRows(rows, turn);
    return isSearching || this.#waitForCaller();
  }

  async #search(
    { terms }: PromptParts,
    step: StoredStep,
    { caller, models }: { readonly caller: ModelCaller; readonly models: ModelCalls },
  ): Promise<boolean> {
    const run = this.#run;
    const { search, leaseMs } = this.#options;
    const options = { search, owner: caller, terms, models, now: this.#options.now() };
    const calls = await runSearches(step, options);
    if (this.#abort.signal.aborted) return rest(run.handleConflict());
    if ('code' in calls) return rest(run.fail(calls));
    const details = callsDetails(calls, new Map());
    const isWhole = calls.every(isSearch);
    const now = this.#options.now();
    const ended = { details, ...(isWhole ? { status: 'completed' as const, ended_at: now } : {}) };
    const moved = await run.move({
      move: isWhole ? 'search' : 'ask',
      now,
      openStep: ended,
      set: isWhole ? { lease_until: now + leaseMs } : waitingFor(calls),
    });
    if (!moved) return rest(run.handleConflict());
    if (!isWhole) return this.#waitForCaller();
    run.turnEvents.emitSearch({ ...step, ...ended });
    return true;
  }

  #waitForCaller(): false {
    const { events, row } = this.#run;
    events?.emit('thread.run.requires_action', runRecord(row));
    events?.end();
    return false;
  }
}

/** Awaits the end; the run does not continue without the caller. */
async function rest(ended: Promise<void>): Promise<false> {
  await ended;
  return false;
}

/** Columns of a run that waits for its caller. */
function waitingFor(calls: readonly StepCall[]) {
  const pending = calls.filter((call) => !isSearch(call)).map(asFunction);
  return {
    pending_calls: JSON.stringify(pending),
    lease_owner: null,
    lease_until: null,
    lease_count: 0,
  };
}
