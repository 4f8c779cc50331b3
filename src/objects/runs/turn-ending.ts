/** Determines how a run continues or ends after a turn of its model. */
import type { StoredStep } from '../../store/objects/run-steps.ts';
import { searchToolOf } from './file-search.ts';
import type { ModelTurn } from './model-turn.ts';
import type { PromptParts } from './prompt.ts';
import type { RunFailure } from './run-failure.ts';
import { callsIn, isSearch, type StepCall, stepCalls } from './step-calls.ts';
import type { TurnMessageState } from './turn-rows.ts';

/** Maximum searches of one run. */
const searchesMax = 20;

/** How a run ends. */
export interface RunEnding {
  readonly move: keyof typeof finalStatuses;
  readonly failure: RunFailure | { readonly reason: string } | null;
  /** The turn of the model; absent if the model was not called or has not finished. */
  readonly turn?: ModelTurn;
  readonly reason?: TurnMessageState['reason'];
  readonly when?: { readonly expiredAt: number };
  /** Whether nothing more is tried if this ending fails. */
  readonly isLast?: boolean;
}

const finalStatuses = {
  complete: 'completed',
  cut: 'incomplete',
  fail: 'failed',
  stop: 'cancelled',
  expire: 'expired',
} as const;

/** Reason of an incomplete message, by the move that ended the run. */
const incompleteReasons = {
  complete: null,
  cut: 'max_tokens',
  fail: 'run_failed',
  stop: 'run_cancelled',
  expire: 'run_expired',
} as const;

export function messageState(
  { move, turn, reason = null }: RunEnding,
  now: number,
  steps: readonly StoredStep[],
): TurnMessageState {
  const status = finalStatuses[move];
  return {
    // A message that a limit has cut short still counts as completed.
    status: status === 'incomplete' ? 'completed' : status,
    endedAt: now,
    reason: turn === undefined ? incompleteReasons[move] : reason,
    steps,
  };
}

/** Returns how the run ends after a turn; null if it continues. */
export function turnEnding(turn: ModelTurn): RunEnding | null {
  if (turn.finish === 'length') {
    const failure = { reason: 'max_completion_tokens' };
    return { move: 'cut', failure, turn, reason: 'max_tokens' };
  }
  if (turn.finish === 'content_filter') {
    const message = "The provider's content filter stopped the response";
    const failure = { code: 'server_error', message };
    return { move: 'fail', failure, turn, reason: 'content_filter' };
  }
  return turn.calls.length === 0 ? { move: 'complete', failure: null, turn } : null;
}

/** Returns the calls of a turn, or a failure if the run searches too often. */
export function turnCalls(
  { calls }: ModelTurn,
  { terms, steps }: PromptParts,
): readonly StepCall[] | RunFailure {
  const called = stepCalls(calls, searchToolOf(terms));
  const before = steps.flatMap(({ details }) => callsIn(details));
  if ([...before, ...called].filter(isSearch).length <= searchesMax) return called;
  const message = `The model made more than ${searchesMax} searches`;
  return { code: 'server_error', message };
}
