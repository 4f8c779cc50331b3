/** Emits the events of one turn: the deltas of its message, and the records once the turn is stored. */
import type { MessagePart } from '../../model/objects/thread.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import type { ModelTurn } from './model-turn.ts';
import { messageRecord, stepRecord } from './records.ts';
import type { RunEvents } from './run-events.ts';
import { newTurnIds, type TurnIds, type TurnRows, turnRows } from './turn-rows.ts';

export class TurnEvents {
  readonly ids: TurnIds;
  readonly #run: StoredRun;
  readonly #events: RunEvents | null;
  #sentText = '';
  #isBegun = false;

  /** Without `events` nothing is emitted. */
  constructor(run: StoredRun, now: number, events: RunEvents | null) {
    this.ids = newTurnIds(now);
    this.#run = run;
    this.#events = events;
  }

  /** The text emitted so far. */
  get sentText(): string {
    return this.#sentText;
  }

  /** Emits text that the model adds to its message. */
  addText(added: string): void {
    if (added === '' || this.#events === null) return;
    this.#begin();
    this.#sentText += added;
    const content = [{ index: 0, type: 'text', text: { value: added, annotations: [] } }];
    this.#events.emit('thread.message.delta', {
      id: this.ids.messageId,
      object: 'thread.message.delta',
      delta: { content },
    });
  }

  /** Emits the rows that were stored. */
  emitRows({ message, messageStep, callsStep }: TurnRows, turn: ModelTurn | null): void {
    const events = this.#events;
    if (events === null) return;
    if (message !== null && messageStep !== null) {
      if (turn !== null) this.addText(turn.text.slice(this.#sentText.length));
      this.#begin();
      const record = messageRecord(message);
      this.#citations(record.content);
      events.emit(`thread.message.${record.status}`, record);
      events.emit(`thread.run.step.${messageStep.status}`, stepRecord(messageStep));
    }
    if (callsStep === null) return;
    const record = stepRecord(callsStep);
    const details = record.step_details as { readonly tool_calls?: readonly object[] };
    const calls = (details.tool_calls ?? []).map((call, index) => ({ index, ...call }));
    const begun = { ...record, step_details: { type: 'tool_calls', tool_calls: [] } };
    events.emit('thread.run.step.created', begun);
    events.emit('thread.run.step.in_progress', begun);
    events.emit('thread.run.step.delta', {
      id: record.id,
      object: 'thread.run.step.delta',
      delta: { step_details: { type: 'tool_calls', tool_calls: calls } },
    });
  }

  /** Emits the step of a completed search. */
  emitSearch(step: StoredStep): void {
    this.#events?.emit('thread.run.step.completed', stepRecord(step));
  }

  /** Emits all citations at once, when the message is complete. */
  #citations([part]: readonly MessagePart[]): void {
    if (part?.type !== 'text' || part.text.annotations.length === 0) return;
    const annotations = part.text.annotations.map((annotation, index) => ({
      index,
      ...annotation,
    }));
    const content = [{ index: 0, type: 'text', text: { value: '', annotations } }];
    this.#events?.emit('thread.message.delta', {
      id: this.ids.messageId,
      object: 'thread.message.delta',
      delta: { content },
    });
  }

  #begin(): void {
    if (this.#isBegun || this.#events === null) return;
    this.#isBegun = true;
    const noOutput = { text: '', calls: [], promptTokens: 0, completionTokens: 0 };
    const open = { status: 'in_progress', endedAt: null, reason: null, steps: [] } as const;
    const { message, messageStep } = turnRows(this.#run, this.ids, noOutput, open);
    const step = stepRecord(messageStep!);
    this.#events.emit('thread.run.step.created', step);
    this.#events.emit('thread.run.step.in_progress', step);
    const begun = { ...messageRecord(message!), content: [], completed_at: null };
    const opened = { ...begun, status: 'in_progress' };
    this.#events.emit('thread.message.created', opened);
    this.#events.emit('thread.message.in_progress', opened);
  }
}
