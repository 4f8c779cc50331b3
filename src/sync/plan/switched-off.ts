/** Blocks planned changes of kinds that are switched off on the server. */
import type { LiveSet } from '../resources/resource-set.ts';
import type { PlanDraft } from './plan-model.ts';

/** Blocks the writes of such kinds; `retain` writes nothing. */
export function blockSwitchedOff(draft: PlanDraft, { switchedOff }: LiveSet): void {
  if (switchedOff === undefined || switchedOff.size === 0) return;
  for (const change of [...draft.changes.values()]) {
    const { kind } = change.identity;
    const setting = switchedOff.get(kind);
    if (setting === undefined || change.action === 'retain') continue;
    const position = change.desired?.position ?? null;
    const message = `${setting} is OFF on the server, which takes no change of a ${kind}: have it \
switched on, or take the manifest out of the source`;
    draft.block({ ...change, position, reason: 'switched-off', message });
  }
}
