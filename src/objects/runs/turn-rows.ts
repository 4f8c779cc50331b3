/** Knows the message and the steps that become of one turn of a model, under ids that a stream has told before. */
import { textPart } from '../../model/objects/thread.ts';
import type { StepStatus, StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import type { StoredMessage } from '../../store/objects/thread-messages.ts';
import { newObjectId } from '../object-id.ts';
import { citationsIn } from './file-search.ts';
import type { ModelTurn } from './model-turn.ts';
import { callsDetails, type StepCall } from './step-calls.ts';

/** Names what a turn says before it has ended. */
export interface TurnIds {
  readonly messageId: string;
  readonly messageStepId: string;
  readonly callsStepId: string;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
}

export interface TurnRows {
  /** Null where the model said nothing. */
  readonly message: StoredMessage | null;
  readonly messageStep: StoredStep | null;
  /** Null where it called nothing. */
  readonly callsStep: StoredStep | null;
}

export function newTurnIds(now: number): TurnIds {
  return {
    messageId: newObjectId('msg'),
    messageStepId: newObjectId('step'),
    callsStepId: newObjectId('step'),
    beganAt: now,
  };
}

/** How what was said stands there. */
export interface Saying {
  readonly status: StepStatus;
  /** Milliseconds since the epoch; null for a step that goes on. */
  readonly endedAt: number | null;
  readonly reason: StoredMessage['incomplete_reason'];
  /** What the run did before, whose finds it may name. */
  readonly steps: readonly StoredStep[];
}

export function turnRows(
  run: StoredRun,
  ids: TurnIds,
  turn: Pick<ModelTurn, 'text' | 'promptTokens' | 'completionTokens'> & {
    readonly calls: readonly StepCall[];
  },
  saying: Saying,
): TurnRows {
  const isSaid = turn.text !== '' || turn.calls.length === 0;
  const used = { prompt_tokens: turn.promptTokens, completion_tokens: turn.completionTokens };
  const nothing = { prompt_tokens: 0, completion_tokens: 0 };
  const message = isSaid ? messageRow(run, ids, turn.text, saying) : null;
  return {
    message,
    messageStep: isSaid
      ? {
          ...stepRow(run, ids.messageStepId, run.turn * 2, ids.beganAt),
          ...{ status: saying.status, ended_at: saying.endedAt },
          ...used,
          details: JSON.stringify({
            type: 'message_creation',
            message_creation: { message_id: ids.messageId },
          }),
        }
      : null,
    callsStep:
      turn.calls.length === 0
        ? null
        : {
            // Behind what was said before it.
            ...stepRow(run, ids.callsStepId, run.turn * 2 + 1, ids.beganAt),
            ...{ status: 'in_progress', ended_at: null },
            ...(isSaid ? nothing : used),
            details: callsDetails(turn.calls, new Map()),
          },
  };
}

function messageRow(
  run: StoredRun,
  ids: TurnIds,
  text: string,
  { reason, steps }: Saying,
): StoredMessage {
  const parts = [textPart(text, citationsIn(text, steps))];
  return {
    ...{ organisation_id: run.organisation_id, id: ids.messageId, thread_id: run.thread_id },
    ...{ role: 'assistant', content: JSON.stringify(parts), metadata: '{}' },
    ...{ assistant_id: run.assistant_id, run_id: run.id, incomplete_reason: reason },
    created_at: ids.beganAt,
  };
}

function stepRow(run: StoredRun, id: string, place: number, createdAt: number) {
  return {
    ...{ organisation_id: run.organisation_id, id, run_id: run.id, thread_id: run.thread_id },
    ...{ assistant_id: run.assistant_id, place, created_at: createdAt },
  };
}
