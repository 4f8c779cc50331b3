/** Knows what becomes of a run by what its model says, and how that stands in its thread. */
import type { StoredStep } from '../../store/objects/run-steps.ts';
import { searchToolOf } from './file-search.ts';
import type { ModelTurn } from './model-turn.ts';
import type { PromptParts } from './prompt.ts';
import type { RunFailure } from './run-failure.ts';
import { callsIn, isSearch, type StepCall, stepCalls } from './step-calls.ts';
import type { Saying } from './turn-rows.ts';

/** Of one run. */
const searchesMax = 20;

/** How a run ends that this one drives. */
export interface Ending {
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

export function sayingOf(
  { move, turn, reason = null }: Ending,
  now: number,
  steps: readonly StoredStep[],
): Saying {
  const status = endedAs[move];
  return {
    // What a bound has cut short was said none the less.
    status: status === 'incomplete' ? 'completed' : status,
    ...{ endedAt: now, reason: turn === undefined ? unsaid[move] : reason, steps },
  };
}

/** How a run ends by what its model says; null for one that goes on. */
export function endingOf(turn: ModelTurn): Ending | null {
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

/** What the model calls; a failure where it searches without an end. */
export function turnCalls(
  { calls }: ModelTurn,
  { terms, steps }: PromptParts,
): readonly StepCall[] | RunFailure {
  const called = stepCalls(calls, searchToolOf(terms));
  const before = steps.flatMap(({ details }) => callsIn(details));
  if ([...before, ...called].filter(isSearch).length <= searchesMax) return called;
  const message = `The model has searched ${searchesMax} times, and goes on`;
  return { code: 'server_error', message };
}
