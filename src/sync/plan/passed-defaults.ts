/**
 * Orders changes when the default of a workspace passes from a resource that is adopted in the same
 * plan.
 */
import { claimsDefault } from '../resources/default-claim.ts';
import type { Identity } from '../resources/resource-set.ts';
import type { DraftChange } from './plan-model.ts';

/**
 * Maps each change that makes something the default to the adoption of the previous default. Until
 * that is adopted, the server counts its loss as a change by others, and the adoption would be
 * refused.
 */
export function passedDefaults(changes: readonly DraftChange[]): ReadonlyMap<string, string> {
  const leaving = new Map<string, string>();
  for (const { action, id, identity, live, desired } of changes) {
    if (action !== 'adopt' || live === null || desired === null) continue;
    if (claimsDefault(live.spec) && !claimsDefault(desired.spec)) {
      leaving.set(placeOf(identity), id);
    }
  }
  const first = new Map<string, string>();
  for (const { id, identity, desired, frees } of changes) {
    const before = leaving.get(placeOf(identity));
    // A change that gives up a name may itself have to come first.
    const mayWait = before !== undefined && frees === null;
    if (mayWait && desired !== null && claimsDefault(desired.spec)) first.set(id, before);
  }
  return first;
}

function placeOf({ kind, workspace }: Identity): string {
  return JSON.stringify([kind, workspace]);
}
