/** Suppresses repeated events, so that a lasting condition is reported once. */
import type { Failure } from '../../failure.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import type { Refusal } from '../plan/guards.ts';
import type { Plan, PlannedChange } from '../plan/plan-model.ts';
import { suspendedIn } from '../plan/suspended.ts';
import { Unreachable } from '../server/refusal.ts';

export class RepeatFilter {
  /** The last failure or drift, as text. */
  #last: string | null = null;
  /** The changes that the last cycle left undone, as text. */
  #waiting: string | null = null;

  /** Returns whether the failure differs from the last one, and remembers it. */
  isNewFailure(failure: Failure): boolean {
    // An unreachable server is the same failure whichever request met it.
    const what = failure instanceof Unreachable ? failure.reason : failure.message;
    const isNews = what !== this.#last;
    [this.#last, this.#waiting] = [what, null];
    return isNews;
  }

  isNewDrift(changes: readonly PlannedChange[]): boolean {
    const drift = driftIn(changes);
    const isNews = drift !== this.#last;
    this.#last = drift;
    return isNews;
  }

  /**
   * Returns true for a cycle that wrote something or leaves something else waiting than the last
   * one.
   */
  isNewCycle({ plan, refusal, report }: CycleResult, rotationsOnly: boolean): boolean {
    const waiting = rotationsOnly ? suspendedIn(plan) : waitingIn(plan, refusal);
    const isNews = waiting === null || report !== null || waiting !== this.#waiting;
    // A refused cycle is reported together with its drift, which therefore stays remembered.
    if (!rotationsOnly && refusal === null) this.#last = null;
    if (!rotationsOnly || waiting !== null) this.#waiting = waiting;
    return isNews;
  }
}

/** Returns the drift as text for comparison; null when there is none. */
function driftIn(changes: readonly PlannedChange[]): string | null {
  const summary = changes.map(({ id, action, fields }) => [id, action, fields]);
  return summary.length === 0 ? null : JSON.stringify(summary);
}

/** Returns what one version leaves waiting, as text for comparison; null for nothing. */
function waitingIn({ blocked, faults, source }: Plan, refusal: Refusal | null): string | null {
  if (blocked.length + faults.length === 0 && refusal === null) return null;
  const held = faults.map(({ fault: { position, message } }) => [position, message]);
  const blockedTexts = blocked.map(({ id, message }) => [id, message]);
  return JSON.stringify([source.digest, refusal?.message, held, blockedTexts]);
}
