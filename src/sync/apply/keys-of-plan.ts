/** Selects the keys of a plan that are deleted, stay, are created, or lose their value. */
import { hasCredential } from '../../model/kinds/kinds.ts';
import type { DraftChange, Plan } from '../plan/plan-model.ts';
import { identityKey } from '../resources/resource-set.ts';
import type { ApplyReport } from './apply.ts';
import type { ExistingKey } from './key-survey.ts';

/** Returns the ids of the keys that are deleted because they left the source. */
export function leavingKeyIds(changes: Iterable<DraftChange>): string[] {
  return [...changes].flatMap(({ prune, identity, live }) =>
    prune && hasCredential(identity.kind) && live !== null ? [live.id] : [],
  );
}

/** Warns of new keys whose value nobody would ever see. */
export function lostValues(plan: Plan): string[] {
  return plan.changes
    .filter(
      ({ action, identity, desired }) =>
        hasCredential(identity.kind) &&
        (action === 'create' || action === 'replace') &&
        desired?.secretOutput === null,
    )
    .map(
      ({ id }) =>
        `${id} has no secretOutput, so its value is never shown; add one, or rotate it by the API`,
    );
}

/** Returns the existing keys with a `secretOutput` that keep their identity. */
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

/** Returns the keys that the run created or renamed. */
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
