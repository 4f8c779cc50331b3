/** Knows one turn of a run from its claim to its end: who drives it, what the model is asked, and what becomes of that. */
/*
 * A run rests in its row; whoever drives it holds a lease there under a name that nobody else has had.
 * What it finds out it writes in one transaction, whose first statement demands the status, the turn
 * and the name that it knows. A driver that was taken for dead, and is not, writes nothing any more:
 * no step stands twice, and no tokens are added twice. What a model was asked by one that died is
 * asked again by its successor, from what the row and the steps say; of an answer that nobody has
 * written down there is nothing but what the limits were charged for it.
 */
import { hasEnded } from '../../model/run-states.ts';
import type { Database } from '../../store/connection/db.ts';
import type { StoredRun } from '../../store/tables/runs.ts';
import * as runs from '../../store/tables/runs.ts';
import type { ModelCallsOf } from '../model-calls.ts';
import { askModel, promptParts } from './ask-model.ts';
import type { ModelTurn } from './model-turn.ts';
import { usedUp } from './prompt.ts';
import { type RunFailure, runRecord } from './records.ts';
import { type Move, moveRun } from './run-ending.ts';
import type { RunEvents } from './run-events.ts';
import { type Saying, turnRows } from './turn-rows.ts';
import { TurnTelling } from './turn-telling.ts';

export interface DriveOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly callsOf: ModelCallsOf;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly leaseMs: number;
}

/** A run that makes its drivers die does not get more of them. */
const leasesMax = 5;

export class Drive {
  readonly #options: DriveOptions;
  readonly #owner: string;
  readonly #telling: TurnTelling;
  readonly #abort = new AbortController();
  readonly #events: RunEvents | null;
  #run: StoredRun;

  /** `run` as it was claimed by `owner`; `events` are told what becomes of it. */
  constructor(run: StoredRun, owner: string, options: DriveOptions, events: RunEvents | null) {
    this.#run = run;
    this.#owner = owner;
    this.#options = options;
    this.#events = events;
    this.#telling = new TurnTelling(run, options.now(), events);
  }

  /** Ends when the run rests, or is another's; rejects where the database does not answer. */
  async go(): Promise<void> {
    if (this.#run.status === 'cancelling') return this.#overtaken();
    if (this.#run.lease_count > leasesMax) {
      const message = 'All who drove the run have died';
      await this.#end({ move: 'fail', failure: { code: 'server_error', message } });
      return;
    }
    const now = this.#options.now();
    const startedAt = this.#run.started_at ?? now;
    const begun = await this.#move({
      ...{ move: 'begin', now, set: { started_at: startedAt } },
      when: { owner: this.#owner, aliveAt: now },
    });
    if (!begun) return this.#overtaken();
    this.#events?.tell('thread.run.in_progress', runRecord(this.#run));
    const parts = await promptParts(this.#options.database, this.#run);
    const bound = usedUp(parts);
    if (bound !== null) return this.#end({ move: 'cut', failure: { reason: bound } });
    const answer = await askModel(parts, {
      ...{ callsOf: this.#options.callsOf, signal: this.#abort.signal },
      onText: this.#events === null ? null : (text) => this.#telling.text(text),
    });
    if (answer === null) return this.#overtaken();
    await this.#settle(answer);
  }

  /** Extends the lease; where the run is no longer to go on, nothing is waited for. */
  async giveSign(): Promise<void> {
    const { database, now, leaseMs } = this.#options;
    const at = now();
    const goesOn = await runs.update(
      database.db,
      this.#run,
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
      this.#run,
      { from: ['queued', 'in_progress', 'cancelling'], owner: this.#owner },
      { lease_until: now() },
    );
  }

  async #settle(answer: ModelTurn | RunFailure): Promise<void> {
    if ('code' in answer) return this.#end({ move: 'fail', failure: answer });
    const ending = endingOf(answer);
    if (ending !== null) return this.#end(ending);
    const now = this.#options.now();
    const rows = turnRows(this.#run, this.#telling.ids, answer, {
      ...{ status: 'completed', endedAt: now, reason: null },
    });
    const asks = await this.#move({
      ...{ move: 'ask', now, rows, when: { owner: this.#owner } },
      set: {
        ...this.#used(answer),
        pending_calls: JSON.stringify(answer.calls),
        ...{ lease_owner: null, lease_until: null, lease_count: 0 },
      },
    });
    if (!asks) return this.#overtaken();
    this.#telling.rows(rows, answer);
    this.#events?.tell('thread.run.requires_action', runRecord(this.#run));
    this.#events?.end();
  }

  #used({ promptTokens, completionTokens }: ModelTurn) {
    return {
      turn: this.#run.turn + 1,
      prompt_tokens: this.#run.prompt_tokens + promptTokens,
      completion_tokens: this.#run.completion_tokens + completionTokens,
    };
  }

  /** The run ends, unless it is another's. What the model has said by then stays. */
  async #end(ending: Ending): Promise<void> {
    const { move, failure, turn, reason = null } = ending;
    const now = this.#options.now();
    const said = turn ?? { text: this.#telling.said, promptTokens: 0, completionTokens: 0 };
    const saying = sayingOf(move, now, turn === undefined ? unsaid[move] : reason);
    const hasRows = turn !== undefined || said.text !== '';
    const rows = hasRows
      ? turnRows(this.#run, this.#telling.ids, { ...said, calls: [] }, saying)
      : undefined;
    const hasEnded = await this.#move({
      ...{ move, now, when: { owner: this.#owner, ...ending.when } },
      ...(rows === undefined ? {} : { rows }),
      set: {
        failure: failure === null ? null : JSON.stringify(failure),
        ...(turn === undefined ? {} : this.#used(turn)),
      },
    });
    if (!hasEnded) return ending.isLast === true ? this.#lost() : this.#overtaken();
    if (rows !== undefined) this.#telling.rows(rows, turn ?? null);
    this.#events?.tell(`thread.run.${this.#run.status}`, runRecord(this.#run));
    this.#events?.end();
  }

  /** It is not as it was known: cancelled, over, or another's. */
  async #overtaken(): Promise<void> {
    const { database, now } = this.#options;
    const run = await runs.findOwned(database.db, this.#run, this.#owner);
    if (run === undefined) return this.#lost();
    this.#run = run;
    if (run.status === 'cancelling') {
      this.#events?.tell('thread.run.cancelling', runRecord(run));
      return this.#end({ move: 'stop', failure: null, isLast: true });
    }
    const at = now();
    if (run.expires_at > at) return this.#lost();
    return this.#end({ move: 'expire', failure: null, isLast: true, when: { expiredAt: at } });
  }

  async #lost(): Promise<void> {
    if (this.#events !== null) await tellLost(this.#options.database, this.#run, this.#events);
  }

  async #move(move: Move): Promise<boolean> {
    const moved = await moveRun(this.#options.database, this.#run, move);
    if (moved !== null) this.#run = moved;
    return moved !== null;
  }
}

/** How a run ends that this one drives. */
interface Ending {
  readonly move: keyof typeof endedAs;
  readonly failure: RunFailure | { readonly reason: string } | null;
  /** What the model has said; absent where it was not asked, or has not ended. */
  readonly turn?: ModelTurn;
  readonly reason?: Saying['reason'];
  readonly when?: { readonly expiredAt: number };
  /** Where this fails nothing more is tried. */
  readonly isLast?: boolean;
}

const endedAs = {
  complete: 'completed',
  cut: 'incomplete',
  fail: 'failed',
  stop: 'cancelled',
  expire: 'expired',
} as const;

/** Why a message stands there that the model had begun to say. */
const unsaid = {
  complete: null,
  cut: 'max_tokens',
  fail: 'run_failed',
  stop: 'run_cancelled',
  expire: 'run_expired',
} as const;

function sayingOf(move: Ending['move'], now: number, reason: Saying['reason']): Saying {
  const status = endedAs[move];
  // What a bound has cut short was said none the less.
  return { status: status === 'incomplete' ? 'completed' : status, endedAt: now, reason };
}

/** How a run ends by what its model says; null for one that goes on. */
function endingOf(turn: ModelTurn): Ending | null {
  if (turn.finish === 'length') {
    const failure = { reason: 'max_completion_tokens' };
    return { move: 'cut', failure, turn, reason: 'max_tokens' };
  }
  if (turn.finish === 'content_filter') {
    const message = 'The filter of the provider has cut the answer off';
    const failure = { code: 'server_error', message };
    return { move: 'fail', failure, turn, reason: 'content_filter' };
  }
  return turn.calls.length === 0 ? { move: 'complete', failure: null, turn } : null;
}

/** Whoever waits is told how the run has ended, or that it goes on without them. */
async function tellLost(
  { db }: DriveOptions['database'],
  { organisation_id, thread_id, id }: StoredRun,
  events: RunEvents,
): Promise<void> {
  const run = await runs.find(db, { organisation_id, id: thread_id }, id);
  if (run !== undefined && hasEnded(run.status)) {
    events.tell(`thread.run.${run.status}`, runRecord(run));
  } else {
    const message = 'The run goes on elsewhere: ask for it again';
    events.tell('error', { error: { message, type: 'server_error', code: 'unavailable' } });
  }
  events.end();
}
