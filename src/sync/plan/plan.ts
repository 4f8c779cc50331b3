/** Completes a comparison to a plan: blocks what cannot be done now, and orders the rest. */
import {
  type DesiredResource,
  type DesiredSet,
  identityKey,
  type LiveResource,
  type LiveSet,
  noteText,
  type Spec,
} from '../resources/resource-set.ts';
import { blockDependants, blockWhatIsInUse } from './blocking.ts';
import { type ComparisonOptions, compareSets, type SetComparison } from './comparison.ts';
import { definitionHints, firstListHints } from './hints/definition-hints.ts';
import { guardrailHints } from './hints/guardrail-hints.ts';
import { unknownServerHints } from './hints/unknown-server-hints.ts';
import { orderChanges } from './order.ts';
import { passedDefaults } from './passed-defaults.ts';
import type { DraftChange, Plan, PlanDraft, UnmanagedResource } from './plan-model.ts';
import { blockKeysInUse } from './removal-holds.ts';
import { blockSuspended, type Suspension } from './suspended.ts';
import { blockSwitchedOff } from './switched-off.ts';

/** Facts of the server that matter only when a plan removes or writes something. */
export interface PlanFacts {
  /** Keys in use by id, with their last use (RFC 3339; null when unknown). Absent means none. */
  readonly keysInUse?: ReadonlyMap<string, string | null> | undefined;
  /** Suspensions in force; absent means none. */
  readonly suspensions?: readonly Suspension[] | undefined;
}

export interface PlanOptions extends ComparisonOptions, PlanFacts {}

/**
 * Plans how the live set becomes the desired one. Pure; the plan contains no secret value.
 *
 * @throws Failure (invalid input) when desired resources refer to each other in a circle, or the scope
 *   names an unknown workspace
 */
export function makePlan(desired: DesiredSet, live: LiveSet, options: PlanOptions): Plan {
  return planFrom(compareSets(desired, live, options), options);
}

/** Returns a copy of the compared draft in which every change that cannot be made now is blocked. */
export function blockedDraft(
  { draft, live, resources, options }: SetComparison,
  facts: PlanFacts,
): PlanDraft {
  const blocked = draft.copy();
  blockKeysInUse(blocked, options.isReleased, facts.keysInUse ?? new Map());
  blockSwitchedOff(blocked, live);
  blockSuspended(blocked, facts.suspensions ?? []);
  blockWhatIsInUse(blocked, resources);
  blockDependants(blocked, resources);
  return blocked;
}

/**
 * Completes a comparison, once: the ordered changes are the drafted objects themselves.
 *
 * @throws Failure (invalid input) when desired resources refer to each other in a circle
 */
export function planFrom(comparison: SetComparison, facts: PlanFacts): Plan {
  const { desired, live, options, borders, wanted, resources } = comparison;
  const draft = blockedDraft(comparison, facts);
  const byKey = new Map(resources.map((resource) => [identityKey(resource.identity), resource]));
  const drafted = [...draft.changes.values()];
  const changes = orderChanges(drafted, passedDefaults(drafted)).map(({ change, ...order }) =>
    Object.assign(change, order),
  );
  return {
    owner: options.owner,
    source: desired.source,
    etag: live.etag,
    changes,
    blocked: [...draft.blocked.values()].toSorted((one, two) => (one.id < two.id ? -1 : 1)),
    unchanged: draft.unchanged,
    desired: wanted.filter((resource) => !resource.absent).length,
    // A plan that only restores ignores what the source changes, including the outputs of keys.
    wanted: options.restoresOnly === true ? [] : wanted,
    owned: comparison.ownedCount,
    unmanaged: unmanagedIn(resources.filter(({ identity }) => !borders.isOutside(identity))),
    unknown: live.unknown,
    leftAlone: desired.leftAlone,
    faults: borders.faults,
    ignored: draft.ignored,
    warnings: [
      ...(desired.warnings ?? []).map(noteText),
      ...uncomparedHints(wanted, live, byKey),
      ...renameHints(changes),
      ...draft.hints,
      ...unknownServerHints(wanted, resources),
      ...guardrailHints(changes, wanted, resources),
      ...firstListHints(wanted, byKey),
      ...definitionHints(resources.filter(({ identity }) => !borders.isOutside(identity))),
    ],
    nextRotationAt: draft.nextRotationAt,
    live: byKey,
  };
}

/** Lists unmanaged resources in the order of their identities, without what bootstrap created. */
function unmanagedIn(resources: readonly LiveResource[]): UnmanagedResource[] {
  return resources
    .filter(({ owner, isOfDeployment }) => owner === null && !isOfDeployment)
    .map(({ identity, id }) => ({
      key: identityKey(identity),
      resource: { ...identity, resourceId: id },
    }))
    .toSorted((one, two) => (one.key < two.key ? -1 : 1))
    .map(({ resource }) => resource);
}

/** Names the resources whose secrets could not be compared for want of the fingerprint key. */
function uncomparedHints(
  wanted: readonly DesiredResource[],
  { fingerprintKey }: LiveSet,
  byKey: ReadonlyMap<string, LiveResource>,
): string[] {
  if (fingerprintKey !== null) return [];
  return wanted
    .map(({ identity, secrets }) => ({ id: identityKey(identity), count: secrets.size }))
    .filter(({ id, count }) => count > 0 && byKey.has(id))
    .map(
      ({ id }) =>
        `the secret values of ${id} cannot be compared by credentials that may not write them`,
    );
}

/** Points out a deletion and an equal creation: a rename that would lose the id. */
function renameHints(changes: readonly DraftChange[]): string[] {
  const leaving = changes.filter((change) => change.prune);
  return changes
    .filter((change) => change.action === 'create')
    .flatMap((change) => {
      const { kind, workspace } = change.identity;
      const twin = leaving.find(
        ({ identity, live }) =>
          identity.kind === kind &&
          identity.workspace === workspace &&
          sameBody(live?.base ?? {}, change.desired?.spec ?? {}),
      );
      if (twin === undefined) return [];
      return [
        `${change.id} looks like ${twin.id} under a new name; to keep its id, add \
metadata.previousNames: [${twin.identity.name}]`,
      ];
    });
}

function sameBody(one: Spec, two: Spec): boolean {
  const text = ({ name: _, ...rest }: Spec): string =>
    JSON.stringify(Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return text(one) === text(two);
}
