/** Derives the ending of a cycle from its plan, the faults of its source and the key deliveries. */
import type { Ending } from '../../failure.ts';
import type { KeyDelivery } from '../apply/key-survey.ts';
import type { Refusal } from '../plan/guards.ts';
import type { DraftChange, Plan } from '../plan/plan-model.ts';

/** Returns how many changes a plan would write. */
export function countWrites(plan: Plan): number {
  return countWriting(plan.changes);
}

/** Returns how many of the changes write something; `retain` does not. */
export function countWriting(changes: Iterable<DraftChange>): number {
  let count = 0;
  for (const { action } of changes) if (action !== 'retain') count += 1;
  return count;
}

/** Returns whether all changes only restore what was applied before. */
export function onlyRestores(changes: Iterable<DraftChange>): boolean {
  for (const { action, restores } of changes) if (!restores && action !== 'retain') return false;
  return true;
}

export function endingOfPlan(plan: Plan, refusal: Refusal | null): Ending {
  const isHeld = refusal !== null || plan.blocked.length > 0;
  const changes = countWrites(plan) > 0 ? 'changesPresent' : 'success';
  return withFaults(isHeld ? 'refusedByGuard' : changes, plan);
}

/**
 * Returns partial failure instead of a success or a refusal while part of the source is invalid.
 */
export function withFaults(ending: Ending, { faults }: Plan): Ending {
  const isCovered = ['success', 'changesPresent', 'refusedByGuard'].includes(ending);
  return faults.length > 0 && isCovered ? 'partialFailure' : ending;
}

/**
 * Returns partial failure instead of success while a sink lacks the value of a key. Plans may be
 * made on other machines, where a missing value means nothing, but a wrong one does.
 */
export function withDeliveries(
  ending: Ending,
  deliveries: readonly KeyDelivery[],
  act: boolean,
): Ending {
  const wrong = act
    ? ['none', 'pending', 'elsewhere', 'outdated', 'mismatch', 'unreadable']
    : ['mismatch'];
  const isWrong = deliveries.some(({ state }) => wrong.includes(state));
  return ending === 'success' && isWrong ? 'partialFailure' : ending;
}
