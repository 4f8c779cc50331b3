/** State of a run as its driver knows it: conditional changes, endings and events for the caller. */
import { hasEnded } from '../../model/objects/run-states.ts';
import type { Database } from '../../store/connection/db.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import type { ModelTurn } from './model-turn.ts';
import { runRecord } from './records.ts';
import { type Move, moveRun } from './run-ending.ts';
import type { RunEvents } from './run-events.ts';
import type { RunFailure } from './run-failure.ts';
import { type Ending, sayingOf } from './turn-ending.ts';
import { turnRows } from './turn-rows.ts';
import { TurnTelling } from './turn-telling.ts';

export interface DrivenRunOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class DrivenRun {
  readonly #options: DrivenRunOptions;
  readonly #owner: string;
  /** Null if no caller streams. */
  readonly events: RunEvents | null;
  row: StoredRun;
  /** Events of the current turn. */
  telling: TurnTelling;
  /** Steps of the previous turns. */
  steps: readonly StoredStep[] = [];

  /** `row` as claimed by `owner`. */
  constructor(row: StoredRun, owner: string, options: DrivenRunOptions, events: RunEvents | null) {
    this.row = row;
    this.#owner = owner;
    this.#options = options;
    this.events = events;
    this.telling = new TurnTelling(row, options.now(), events);
  }

  beginTurn(steps: readonly StoredStep[]): void {
    this.steps = steps;
    this.telling = new TurnTelling(this.row, this.#options.now(), this.events);
  }

  /** Returns false if the stored run differs from the known one. */
  async move({ when, ...move }: Move): Promise<boolean> {
    const own = { ...when, owner: this.#owner };
    const moved = await moveRun(this.#options.database, this.row, { ...move, when: own });
    if (moved !== null) this.row = moved;
    return moved !== null;
  }

  fail(failure: RunFailure): Promise<void> {
    return this.end({ move: 'fail', failure });
  }

  /** Ends the run unless another driver owns it. Text that the model has produced so far is preserved. */
  async end(ending: Ending): Promise<void> {
    const { move, failure, turn, when } = ending;
    const now = this.#options.now();
    const output = turn ?? { text: this.telling.said, promptTokens: 0, completionTokens: 0 };
    const hasRows = turn !== undefined || output.text !== '';
    const saying = sayingOf(ending, now, this.steps);
    const rows = hasRows
      ? turnRows(this.row, this.telling.ids, { ...output, calls: [] }, saying)
      : undefined;
    const moved = await this.move({
      move,
      now,
      ...(when === undefined ? {} : { when }),
      ...(rows === undefined ? {} : { rows }),
      set: {
        failure: failure === null ? null : JSON.stringify(failure),
        ...(turn === undefined ? {} : this.used(turn)),
      },
    });
    if (!moved) return ending.isLast === true ? this.#lost() : this.overtaken();
    if (rows !== undefined) this.telling.rows(rows, turn ?? null);
    this.events?.tell(`thread.run.${this.row.status}`, runRecord(this.row));
    this.events?.end();
  }

  /** Columns with the usage including this turn. */
  used({ promptTokens, completionTokens }: ModelTurn) {
    const { turn, prompt_tokens: prompt, completion_tokens: completion } = this.row;
    return {
      turn: turn + 1,
      prompt_tokens: prompt + promptTokens,
      completion_tokens: completion + completionTokens,
    };
  }

  /** Handles a run that differs from the known one: it was cancelled, has ended, or has another owner. */
  async overtaken(): Promise<void> {
    const { database, now } = this.#options;
    const run = await runs.findOwned(database.db, this.row, this.#owner);
    if (run === undefined) return this.#lost();
    this.row = run;
    if (run.status === 'cancelling') {
      this.events?.tell('thread.run.cancelling', runRecord(run));
      return this.end({ move: 'stop', failure: null, isLast: true });
    }
    const at = now();
    if (run.expires_at > at) return this.#lost();
    return this.end({ move: 'expire', failure: null, isLast: true, when: { expiredAt: at } });
  }

  /** Informs the caller how the run has ended, or that it continues elsewhere. */
  async #lost(): Promise<void> {
    const { events } = this;
    if (events === null) return;
    const { organisation_id, thread_id, id } = this.row;
    const thread = { organisation_id, id: thread_id };
    const run = await runs.find(this.#options.database.db, thread, id);
    if (run !== undefined && hasEnded(run.status)) {
      events.tell(`thread.run.${run.status}`, runRecord(run));
    } else {
      const message = 'The run continues in another process: retrieve it again';
      events.tell('error', { error: { message, type: 'server_error', code: 'unavailable' } });
    }
    events.end();
  }
}
