/** Blocks planned changes because of what depends on them or what they depend on. */

import { type KindName, kindNames, kinds } from '../../model/kinds/kinds.ts';
import {
  type ExternalResource,
  identityKey,
  type LiveResource,
} from '../resources/resource-set.ts';
import { referencesIn } from '../resources/spec-paths.ts';
import type { DraftChange, PlanDraft } from './plan-model.ts';

export function blockMissingExternals(
  draft: PlanDraft,
  externals: readonly ExternalResource[],
  live: readonly LiveResource[],
): void {
  if (externals.length === 0) return;
  const present = new Set(live.map((resource) => identityKey(resource.identity)));
  for (const external of externals) {
    const { identity, position } = external;
    const id = identityKey(identity);
    if (present.has(id)) continue;
    const message = missingText(external, live);
    draft.block({ id, identity, position, reason: 'missing-external', message });
  }
}

/** Several resources of that name are listed by id, so that one can be chosen. */
function missingText(
  { identity: { kind, workspace }, by, lookup }: ExternalResource,
  live: readonly LiveResource[],
): string {
  const where = by === 'name' && workspace !== null ? ` in the workspace ${workspace}` : '';
  const twins = live.filter(
    ({ identity, title }) =>
      by === 'name' &&
      identity.kind === kind &&
      identity.workspace === workspace &&
      title === lookup,
  );
  if (twins.length < 2) return `no ${kind} with the ${by} "${lookup}" exists on the server${where}`;
  const ids = twins.map(({ id }) => id).join(', ');
  return `${twins.length} of kind ${kind} have the name "${lookup}"${where}; write spec.id, one of ${ids}`;
}

/**
 * Blocks deletions of what remaining resources refer to. Also blocks the pruning of resources in a
 * blocked workspace, so that a workspace that stays is not emptied.
 */
export function blockWhatIsInUse(draft: PlanDraft, live: readonly LiveResource[]): void {
  // Most plans delete nothing, and searching all references is slow.
  const goes = ({ action }: DraftChange): boolean => action === 'delete' || action === 'replace';
  if (![...draft.changes.values()].some(goes)) return;
  const references = live.map((resource) => ({ resource, held: referencesIn(resource.spec) }));
  for (let blockedOne = true; blockedOne; ) {
    blockedOne = blockContents(draft);
    const users = usersAfter(draft, references);
    for (const change of [...draft.changes.values()]) {
      if (!goes(change) || keepsReferences(change)) continue;
      const inUseBy = users.get(identityKey(change.live!.identity)) ?? [];
      if (inUseBy.length === 0) continue;
      draft.block({ ...change, reason: 'in-use', message: inUseMessage(change, inUseBy) });
      blockedOne = true;
    }
  }
}

/** Returns whether a replacement has the slug by which every reference names the resource. */
function keepsReferences({ action, identity: { kind }, desired, live }: DraftChange): boolean {
  return action === 'replace' && isNamedBySlug(kind) && (desired?.spec.slug ?? null) === live?.slug;
}

function isNamedBySlug(kind: KindName): boolean {
  const references = kindNames.flatMap((name) => kinds[name].references);
  return references.every((reference) => reference.kind !== kind || reference.by === 'slug');
}

/** Returns whether anything was blocked because its workspace is. */
function blockContents(draft: PlanDraft): boolean {
  const staying = [...draft.changes.values()].filter(({ prune, identity: { workspace } }) => {
    const parent = { kind: 'Workspace', workspace: null, name: workspace ?? '' } as const;
    return prune && workspace !== null && draft.blocked.has(identityKey(parent));
  });
  for (const change of staying) {
    const message = `it left the source, but its workspace ${change.identity.workspace} is blocked and keeps \
what is in it`;
    draft.block({ ...change, reason: 'parent-stays', message });
  }
  return staying.length > 0;
}

/** Returns the resources that refer to each live resource after the plan, by identity key. */
function usersAfter(
  draft: PlanDraft,
  references: readonly { resource: LiveResource; held: readonly string[] }[],
): Map<string, string[]> {
  const changes = new Map([...draft.changes.values()].map((change) => [change.live, change]));
  const users = new Map<string, string[]>();
  for (const { resource, held } of references) {
    const change = changes.get(resource);
    for (const key of held) {
      // A deletion needs nothing.
      const keeps =
        change === undefined || change.action === 'retain' || change.needs.includes(key);
      if (!keeps) continue;
      const known = users.get(key);
      if (known === undefined) users.set(key, [identityKey(resource.identity)]);
      else known.push(identityKey(resource.identity));
    }
  }
  return users;
}

function inUseMessage(change: DraftChange, inUseBy: readonly string[]): string {
  const users = listed(inUseBy.toSorted());
  return change.action === 'delete'
    ? `it cannot be deleted while ${users} refers to it; remove the reference first`
    : `it would have to be replaced, because a fixed field differs, but ${users} refers to it; \
declare it under a new name and move the references there`;
}

/** Blocks desired resources with a reference that can never be resolved. */
export function blockDependants(draft: PlanDraft, live: readonly LiveResource[]): void {
  if (draft.changes.size === 0) return;
  const present = new Set(live.map((resource) => identityKey(resource.identity)));
  const isMissing = (key: string): boolean => !present.has(key) && !draft.changes.has(key);
  for (let blockedOne = true; blockedOne; ) {
    blockedOne = false;
    for (const change of [...draft.changes.values()]) {
      if (change.action === 'delete' || change.action === 'retain') continue;
      const missing = change.needs.find(isMissing);
      if (missing === undefined) continue;
      const why = draft.blocked.has(missing)
        ? 'is blocked'
        : 'does not exist and is outside the scope of this run';
      const message = `it refers to ${missing}, which ${why}`;
      draft.block({ ...change, reason: 'dependency', message });
      blockedOne = true;
    }
  }
}

function listed(ids: readonly string[]): string {
  const first = ids.slice(0, 3).join(', ');
  return ids.length > 3 ? `${first} and ${ids.length - 3} more` : first;
}
