/** Knows how a cycle ends: what a plan, what is wrong with its source and the files of keys come to. */
import type { Ending } from '../../failure.ts';
import type { KeyDelivery } from '../apply/key-survey.ts';
import type { Refusal } from '../plan/guards.ts';
import type { Plan } from '../plan/planned.ts';

/** How many changes a plan would write. */
export function writes(plan: Plan): number {
  return plan.changes.filter((change) => change.action !== 'retain').length;
}

/** Whether it says nothing that was not applied before. */
export function onlyRestores({ changes }: Plan): boolean {
  return changes.every(({ action, restores }) => restores || action === 'retain');
}

export function endingOfPlan(plan: Plan, refusal: Refusal | null): Ending {
  const isHeld = refusal !== null || plan.blocked.length > 0;
  const changes = writes(plan) > 0 ? 'changesPresent' : 'success';
  return withFaults(isHeld ? 'refusedByGuard' : changes, plan);
}

/** A run is no success while a part of the source is wrong, which tells more than what is held back. */
export function withFaults(ending: Ending, { faults }: Plan): Ending {
  const isCovered = ['success', 'changesPresent', 'refusedByGuard'].includes(ending);
  return faults.length > 0 && isCovered ? 'partialFailure' : ending;
}

/**
 * A run is no success while a place lacks its value. A plan is made on other machines too, so that a
 * value which is not there says nothing to it; another one there does.
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
