/** Knows which keys a plan and its run are about: those that leave, stay, are made, or lose their value. */
import type { DraftChange, Plan } from '../plan/planned.ts';
import { identityKey } from '../resources/resource-set.ts';
import type { ApplyReport } from './apply.ts';
import type { ExistingKey } from './key-survey.ts';

/** Returns the ids of the keys that are deleted because they left the source. */
export function leavingKeyIds(changes: Iterable<DraftChange>): string[] {
  return [...changes].flatMap(({ prune, identity, live }) =>
    prune && identity.kind === 'ApiKey' && live !== null ? [live.id] : [],
  );
}

/** Keys whose value nobody would ever see. */
export function lostValues(plan: Plan): string[] {
  return plan.changes
    .filter(
      ({ action, identity, desired }) =>
        identity.kind === 'ApiKey' &&
        (action === 'create' || action === 'replace') &&
        desired?.secretOutput === null,
    )
    .map(
      ({ id }) =>
        `${id} has no secretOutput: its value is shown nowhere; name a place for it, or rotate it by the API`,
    );
}

/** Keys that are there before the plan and stay as they are, and whose value belongs somewhere. */
export function existingKeys(plan: Plan): ExistingKey[] {
  const moving = new Set(
    plan.changes
      .filter(
        ({ action, reason }) => (action !== 'update' && action !== 'rotate') || reason === 'rename',
      )
      .map(({ id }) => id),
  );
  return plan.wanted.flatMap((desired) => {
    const id = identityKey(desired.identity);
    const live = plan.live.get(id);
    const isThere = live?.owner === plan.owner && !moving.has(id) && !desired.absent;
    return isThere && desired.secretOutput !== null ? [{ desired, keyId: live.id }] : [];
  });
}

/** Keys that the run has made or renamed. */
export function writtenKeys(plan: Plan, report: ApplyReport): ExistingKey[] {
  const done = new Map(report.items.map((item) => [item.id, item]));
  return plan.changes.flatMap(({ id, action, reason, desired }) => {
    const item = done.get(id);
    const isWritten = action === 'create' || action === 'replace' || reason === 'rename';
    if (!isWritten || item?.status !== 'done' || item.resourceId === null) return [];
    if (desired === null || desired.secretOutput === null || desired.absent) return [];
    return [{ desired, keyId: item.resourceId }];
  });
}
