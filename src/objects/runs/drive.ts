/** Knows how a run is driven from its claim until it rests: turn by turn, what the model is asked, and what becomes of that. */
/*
 * A run rests in its row; whoever drives it holds a lease there under a name that nobody else has had.
 * What it finds out it writes in one transaction, whose first statement demands the status, the turn
 * and the name that it knows. A driver that was taken for dead, and is not, writes nothing any more:
 * no step stands twice, and no tokens are added twice. What a model was asked by one that died is
 * asked again by its successor, from what the row and the steps say; of an answer that nobody has
 * written down there is nothing but what the limits were charged for it. A search that the model
 * calls is written down as called before it is done.
 */
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import type { ModelCaller, ModelCalls, ModelCallsOf } from '../model-calls.ts';
import type { StoreSearch } from '../store-search.ts';
import { askModel, promptParts, wantedCalls } from './ask-model.ts';
import { DrivenRun, type DrivenRunOptions } from './driven-run.ts';
import { searchStep } from './file-search.ts';
import type { ModelTurn } from './model-turn.ts';
import { type PromptParts, usedUp } from './prompt.ts';
import { runRecord } from './records.ts';
import type { RunEvents } from './run-events.ts';
import { asFunction, callsDetails, isSearch, type StepCall } from './step-calls.ts';
import { endingOf, turnCalls } from './turn-ending.ts';
import { turnRows } from './turn-rows.ts';

export interface DriveOptions extends DrivenRunOptions {
  readonly callsOf: ModelCallsOf;
  readonly search: StoreSearch;
  readonly leaseMs: number;
}

/** A run that makes its drivers die does not get more of them. */
const leasesMax = 5;

export class Drive {
  readonly #options: DriveOptions;
  readonly #owner: string;
  readonly #run: DrivenRun;
  readonly #abort = new AbortController();

  /** `run` as it was claimed by `owner`; `events` are told what becomes of it. */
  constructor(run: StoredRun, owner: string, options: DriveOptions, events: RunEvents | null) {
    this.#run = new DrivenRun(run, owner, options, events);
    this.#owner = owner;
    this.#options = options;
  }

  /** Ends when the run rests, or is another's; rejects where the database does not answer. */
  async go(): Promise<void> {
    const run = this.#run;
    if (run.row.status === 'cancelling') return run.overtaken();
    if (run.row.lease_count > leasesMax) {
      return run.fail({ code: 'server_error', message: 'All who drove the run have died' });
    }
    const now = this.#options.now();
    const set = { started_at: run.row.started_at ?? now };
    if (!(await run.move({ move: 'begin', now, set, when: { aliveAt: now } }))) {
      return run.overtaken();
    }
    run.events?.tell('thread.run.in_progress', runRecord(run.row));
    const caller = JSON.parse(run.row.caller) as ModelCaller;
    const models = wantedCalls(this.#options.callsOf(caller), this.#abort.signal);
    let goesOn = true;
    while (goesOn) {
      const parts = await promptParts(this.#options.database, run.row);
      run.beginTurn(parts.steps);
      const open = parts.steps.find(({ status }) => status === 'in_progress');
      goesOn = await (open === undefined
        ? this.#turn(parts, models)
        : this.#search(parts, open, { caller, models }));
    }
  }

  /** Extends the lease; where the run is no longer to go on, nothing is waited for. */
  async giveSign(): Promise<void> {
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

  /** Leaves the run to others, at once. */
  async leave(): Promise<void> {
    const { database, now } = this.#options;
    this.#abort.abort();
    await runs.update(
      database.db,
      this.#run.row,
      { from: ['queued', 'in_progress', 'cancelling'], owner: this.#owner },
      { lease_until: now() },
    );
  }

  /** Whether the run goes on by itself. */
  async #turn(parts: PromptParts, models: ModelCalls): Promise<boolean> {
    const run = this.#run;
    const bound = usedUp(parts);
    if (bound !== null) return rest(run.end({ move: 'cut', failure: { reason: bound } }));
    const onText = run.events === null ? null : (text: string) => run.telling.text(text);
    const answer = await askModel(parts, models, onText);
    if (this.#abort.signal.aborted) return rest(run.overtaken());
    if ('code' in answer) return rest(run.fail(answer));
    const ending = endingOf(answer);
    if (ending !== null) return rest(run.end(ending));
    const calls = turnCalls(answer, parts);
    return 'code' in calls ? rest(run.fail(calls)) : this.#called(answer, calls);
  }

  /** What the model has called is written down: for the caller, or for a search. */
  async #called(answer: ModelTurn, calls: readonly StepCall[]): Promise<boolean> {
    const run = this.#run;
    const now = this.#options.now();
    const turn = { ...answer, calls };
    const rows = turnRows(run.row, run.telling.ids, turn, {
      ...{ status: 'completed', endedAt: now, reason: null, steps: run.steps },
    });
    const isSearching = calls.some(isSearch);
    const moved = await run.move({
      ...{ move: isSearching ? 'search' : 'ask', now, rows },
      set: { ...run.used(answer), ...(isSearching ? { lease_count: 1 } : waitingFor(calls)) },
    });
    if (!moved) return rest(run.overtaken());
    run.telling.rows(rows, answer);
    return isSearching || this.#asked();
  }

  async #search(
    { terms }: PromptParts,
    step: StoredStep,
    { caller, models }: { readonly caller: ModelCaller; readonly models: ModelCalls },
  ): Promise<boolean> {
    const run = this.#run;
    const { search, leaseMs } = this.#options;
    const asked = { search, owner: caller, terms, models, now: this.#options.now() };
    const calls = await searchStep(step, asked);
    if (this.#abort.signal.aborted) return rest(run.overtaken());
    if ('code' in calls) return rest(run.fail(calls));
    const details = callsDetails(calls, new Map());
    const isWhole = calls.every(isSearch);
    const now = this.#options.now();
    const ended = { details, ...(isWhole ? { status: 'completed' as const, ended_at: now } : {}) };
    const moved = await run.move({
      ...{ move: isWhole ? 'search' : 'ask', now, openStep: ended },
      set: isWhole ? { lease_until: now + leaseMs } : waitingFor(calls),
    });
    if (!moved) return rest(run.overtaken());
    if (!isWhole) return this.#asked();
    run.telling.searched({ ...step, ...ended });
    return true;
  }

  #asked(): false {
    const { events, row } = this.#run;
    events?.tell('thread.run.requires_action', runRecord(row));
    events?.end();
    return false;
  }
}

/** The run goes on no more by itself. */
async function rest(ended: Promise<void>): Promise<false> {
  await ended;
  return false;
}

/** Of a run that waits for its caller. */
function waitingFor(calls: readonly StepCall[]) {
  const pending = calls.filter((call) => !isSearch(call)).map(asFunction);
  return {
    pending_calls: JSON.stringify(pending),
    ...{ lease_owner: null, lease_until: null, lease_count: 0 },
  };
}
