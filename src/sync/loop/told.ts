/** Knows what a loop has told, so that what goes on is told once. */
import type { Failure } from '../../failure.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import type { Refusal } from '../plan/guards.ts';
import type { Plan, PlannedChange } from '../plan/planned.ts';
import { suspendedIn } from '../plan/suspended.ts';
import { Unreachable } from '../server/refusal.ts';

export class Told {
  /** A failure, or what others have changed. */
  #last: string | null = null;
  /** What a cycle left undone. */
  #waiting: string | null = null;

  /** Whether it is other than the last time; it is told now. */
  isNewFailure(failure: Failure): boolean {
    // What cannot be reached is that, whichever request found it out.
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

  /** A cycle that has written something is; one after which all waits that did before is not. */
  isNewCycle({ plan, refusal, report }: CycleResult, rotationsOnly: boolean): boolean {
    const waiting = rotationsOnly ? suspendedIn(plan) : waitingIn(plan, refusal);
    const isNews = waiting === null || report !== null || waiting !== this.#waiting;
    // Of one that is held back, drift is told beside it.
    if (!rotationsOnly && refusal === null) this.#last = null;
    if (!rotationsOnly || waiting !== null) this.#waiting = waiting;
    return isNews;
  }
}

/** As one text to compare; null for nothing. */
function driftIn(changes: readonly PlannedChange[]): string | null {
  const told = changes.map(({ id, action, fields }) => [id, action, fields]);
  return told.length === 0 ? null : JSON.stringify(told);
}

/** As one text to compare, of one version of the source; null for nothing. */
function waitingIn({ blocked, faults, source }: Plan, refusal: Refusal | null): string | null {
  if (blocked.length + faults.length === 0 && refusal === null) return null;
  const held = faults.map(({ fault: { position, message } }) => [position, message]);
  const kept = blocked.map(({ id, message }) => [id, message]);
  return JSON.stringify([source.digest, refusal?.message, held, kept]);
}
