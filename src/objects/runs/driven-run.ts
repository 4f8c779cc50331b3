/** State of a run as its driver knows it: conditional changes, endings and events for the caller. */
import { hasEnded } from '../../model/objects/run-states.ts';
import type { Database } from '../../store/connection/db.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import type { ModelTurn } from './model-turn.ts';
import { moveRun, type RunTransition } from './move-run.ts';
import { runRecord } from './records.ts';
import type { RunEvents } from './run-events.ts';
import type { RunFailure } from './run-failure.ts';
import { messageState, type RunEnding } from './turn-ending.ts';
import { TurnEvents } from './turn-events.ts';
import { turnRows } from './turn-rows.ts';

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
  turnEvents: TurnEvents;
  /** Steps of the previous turns. */
  steps: readonly StoredStep[] = [];

  /** `row` as claimed by `owner`. */
  constructor(row: StoredRun, owner: string, options: DrivenRunOptions, events: RunEvents | null) {
    this.row = row;
    this.#owner = owner;
    this.#options = options;
    this.events = events;
    this.turnEvents = new TurnEvents(row, options.now(), events);
  }

  beginTurn(steps: readonly StoredStep[]): void {
    this.steps = steps;
    this.turnEvents = new TurnEvents(this.row, this.#options.now(), this.events);
  }

  /** Returns false if the stored run differs from the known one. */
  async move({ when, ...move }: RunTransition): Promise<boolean> {
    const own = { ...when, owner: this.#owner };
    const moved = await moveRun(this.#options.database, this.row, { ...move, when: own });
    if (moved !== null) this.row = moved;
    return moved !== null;
  }

  fail(failure: RunFailure): Promise<void> {
    return this.end({ move: 'fail', failure });
  }

  /** Ends the run unless another driver owns it. Text that the model has produced so far is preserved. */
  async end(ending: RunEnding): Promise<void> {
    const { move, failure, turn, when } = ending;
    const now = this.#options.now();
    const output = turn ?? { text: this.turnEvents.sentText, promptTokens: 0, completionTokens: 0 };
    const hasRows = turn !== undefined || output.text !== '';
    const saying = messageState(ending, now, this.steps);
    const rows = hasRows
      ? turnRows(this.row, this.turnEvents.ids, { ...output, calls: [] }, saying)
      : undefined;
    const moved = await this.move({
      move,
      now,
      ...(when === undefined ? {} : { when }),
      ...(rows === undefined ? {} : { rows }),
      set: {
        failure: failure === null ? null : JSON.stringify(failure),
        ...(turn === undefined ? {} : this.usageWith(turn)),
      },
    });
    if (!moved) return ending.isLast === true ? this.#reportLoss() : this.handleConflict();
    if (rows !== undefined) this.turnEvents.emitRows(rows, turn ?? null);
    this.events?.emit(`thread.run.${this.row.status}`, runRecord(this.row));
    this.events?.end();
  }

  /** Columns with the usage including this turn. */
  usageWith({ promptTokens, completionTokens }: ModelTurn) {
    const { turn, prompt_tokens: prompt, completion_tokens: completion } = this.row;
    return {
      turn: turn + 1,
      prompt_tokens: prompt + promptTokens,
      completion_tokens: completion + completionTokens,
    };
  }

  /** Handles a run that differs from the known one: it was cancelled, has ended, or has another owner. */
  async handleConflict(): Promise<void> {
    const { database, now } = this.#options;
    const run = await runs.findOwned(database.db, this.row, this.#owner);
    if (run === undefined) return this.#reportLoss();
    this.row = run;
    if (run.status === 'cancelling') {
      this.events?.emit('thread.run.cancelling', runRecord(run));
      return this.end({ move: 'stop', failure: null, isLast: true });
    }
    const at = now();
    if (run.expires_at > at) return this.#reportLoss();
    return this.end({ move: 'expire', failure: null, isLast: true, when: { expiredAt: at } });
  }

  /** Informs the caller how the run has ended, or that it continues elsewhere. */
  async #reportLoss(): Promise<void> {
    const { events } = this;
    if (events === null) return;
    const { organisation_id, thread_id, id } = this.row;
    const thread = { organisation_id, id: thread_id };
    const run = await runs.find(this.#options.database.db, thread, id);
    if (run !== undefined && hasEnded(run.status)) {
      events.emit(`thread.run.${run.status}`, runRecord(run));
    } else {
      const message = 'The run continues in another process: retrieve it again';
      events.emit('error', { error: { message, type: 'server_error', code: 'unavailable' } });
    }
    events.end();
  }
}
