/** Knows what comes first where the default of a place passes from a resource that is only now adopted to another. */
import { claimsDefault } from '../resources/default-claim.ts';
import type { Identity } from '../resources/resource-set.ts';
import type { DraftChange } from './planned.ts';

/**
 * Of each change that makes something the default, the adoption of what was it: ids by ids. For as long
 * as nobody has adopted it, the server takes its loss for a change by somebody else, and the adoption
 * would be refused.
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
    // What gives up a name may itself have to come first.
    const mayWait = before !== undefined && frees === null;
    if (mayWait && desired !== null && claimsDefault(desired.spec)) first.set(id, before);
  }
  return first;
}

function placeOf({ kind, workspace }: Identity): string {
  return JSON.stringify([kind, workspace]);
}
