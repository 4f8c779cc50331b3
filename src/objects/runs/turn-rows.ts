/** Builds the message and the steps of one turn, under ids that a stream may have sent before. */
import { messageTextPart } from '../../model/objects/thread.ts';
import type { StepStatus, StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import type { StoredMessage } from '../../store/objects/thread-messages.ts';
import { newObjectId } from '../object-id.ts';
import { citationsIn } from './file-search.ts';
import type { ModelTurn } from './model-turn.ts';
import { callsDetails, type StepCall } from './step-calls.ts';

/** Ids and start time of a turn, assigned before it ends. */
export interface TurnIds {
  readonly messageId: string;
  readonly messageStepId: string;
  readonly callsStepId: string;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
}

export interface TurnRows {
  /** Null if the model returned no text. */
  readonly message: StoredMessage | null;
  readonly messageStep: StoredStep | null;
  /** Null if the model made no calls. */
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

/** State of the message of a turn. */
export interface TurnMessageState {
  readonly status: StepStatus;
  /** Milliseconds since the epoch; null for an open step. */
  readonly endedAt: number | null;
  readonly reason: StoredMessage['incomplete_reason'];
  /** Previous steps of the run, whose search results the text can cite. */
  readonly steps: readonly StoredStep[];
}

export function turnRows(
  run: StoredRun,
  ids: TurnIds,
  turn: Pick<ModelTurn, 'text' | 'promptTokens' | 'completionTokens'> & {
    readonly calls: readonly StepCall[];
  },
  saying: TurnMessageState,
): TurnRows {
  const hasMessage = turn.text !== '' || turn.calls.length === 0;
  const used = { prompt_tokens: turn.promptTokens, completion_tokens: turn.completionTokens };
  const noUsage = { prompt_tokens: 0, completion_tokens: 0 };
  const message = hasMessage ? messageRow(run, ids, turn.text, saying) : null;
  return {
    message,
    messageStep: hasMessage
      ? {
          ...stepRow(run, ids.messageStepId, run.turn * 2, ids.beganAt),
          status: saying.status,
          ended_at: saying.endedAt,
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
            // After the step of the message.
            ...stepRow(run, ids.callsStepId, run.turn * 2 + 1, ids.beganAt),
            status: 'in_progress',
            ended_at: null,
            ...(hasMessage ? noUsage : used),
            details: callsDetails(turn.calls, new Map()),
          },
  };
}

function messageRow(
  run: StoredRun,
  ids: TurnIds,
  text: string,
  { reason, steps }: TurnMessageState,
): StoredMessage {
  const parts = [messageTextPart(text, citationsIn(text, steps))];
  return {
    organisation_id: run.organisation_id,
    id: ids.messageId,
    thread_id: run.thread_id,
    role: 'assistant',
    content: JSON.stringify(parts),
    metadata: '{}',
    assistant_id: run.assistant_id,
    run_id: run.id,
    incomplete_reason: reason,
    created_at: ids.beganAt,
  };
}

function stepRow(run: StoredRun, id: string, place: number, createdAt: number) {
  return {
    organisation_id: run.organisation_id,
    id,
    run_id: run.id,
    thread_id: run.thread_id,
    assistant_id: run.assistant_id,
    place,
    created_at: createdAt,
  };
}
