/** Refuses plans that cannot be carried out as one transaction, before anything is written. */
import type { Refusal } from './guards.ts';
import type { Plan, PlannedChange } from './plan-model.ts';

const listedMax = 5;

/**
 * Returns why the plan cannot be all or nothing, or null.
 *
 * @param changesMax limit of one request; undefined when the server takes no change sets
 */
export function findAtomicRefusal(plan: Plan, changesMax: number | undefined): Refusal | null {
  const reason = reasonOf(plan, changesMax);
  if (reason === null) return null;
  const message = `Refused: --atomic makes all changes in one transaction or none, and ${reason}.
  Run it without --atomic to make each change for itself.`;
  return { message, deletes: 0 };
}

function reasonOf({ changes, blocked, faults }: Plan, changesMax: number | undefined) {
  if (changesMax === undefined) return 'this server takes no change sets';
  const rotated = changes.filter(({ action }) => action === 'rotate');
  if (rotated.length > 0) {
    return `a rotation takes several steps, one of them outside the server: ${listed(rotated)}`;
  }
  const held = [...blocked.map(({ id }) => ({ id })), ...faults.map(() => ({ id: 'a fault' }))];
  if (held.length > 0) return `part of it is held back: ${listed(held)}`;
  const count = changes.reduce((sum, change) => sum + requestsOf(change), 0);
  if (count <= changesMax) return null;
  return `the server takes ${changesMax} at most, and the plan has ${count}; \
--workspace NAME makes it fewer`;
}

function requestsOf({ action }: PlannedChange): number {
  if (action === 'retain') return 0;
  return action === 'replace' ? 2 : 1;
}

function listed(named: readonly { readonly id: string }[]): string {
  const listed = named.slice(0, listedMax).map(({ id }) => id);
  const rest = named.length - listed.length;
  return rest === 0 ? listed.join(', ') : `${listed.join(', ')} and ${rest} more`;
}
