/** Knows what must change for the server to match the manifests: a pure three-way comparison. */

import { kinds } from '../../model/kinds/kinds.ts';
import { fingerprintOf } from '../../model/manifests/fingerprint.ts';
import { type Difference, diffSpecs, isAsApplied, topLevelField } from '../diff/diff.ts';
import { withIgnored } from '../diff/ignored-fields.ts';
import { keptFault, withKeptSecrets } from '../diff/kept-secrets.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type Identity,
  identityKey,
  type LiveResource,
  type LiveSet,
  noteText,
  type Spec,
} from '../resources/resource-set.ts';
import { isSecret, mapSpec, pointerOf } from '../resources/spec-paths.ts';
import type { WorkspaceScope } from '../resources/workspace-scope.ts';
import { blockDependants, blockMissingExternals, blockWhatIsInUse } from './blocking.ts';
import { Borders } from './borders.ts';
import { CreateChange, changeOf } from './draft-change.ts';
import {
  guarded,
  type Held,
  heldBack,
  type IsReleased,
  recordedElsewhere,
  type Unattended,
} from './held-back.ts';
import { orderChanges } from './order.ts';
import { align, type Claim, describeSource, type OwnershipOptions } from './ownership.ts';
import { passedDefaults } from './passed-defaults.ts';
import {
  type BlockedItem,
  Draft,
  type DraftChange,
  type Plan,
  type UnmanagedResource,
} from './planned.ts';
import { renamedBefore } from './renames.ts';
import { recordedGeneration, rotationOf, wantedGeneration } from './rotation.ts';
import { blockSuspended, type Suspension } from './suspended.ts';
import { blockSwitchedOff } from './switched-off.ts';

export interface PlanOptions extends OwnershipOptions {
  /** False leaves alone what left the source without a tombstone. */
  readonly prune: boolean;
  /** Keys that are due get another value, and nothing else is done. */
  readonly rotationsOnly?: boolean | undefined;
  /** What others changed is brought back where the source says what was applied last, and nothing else is done. */
  readonly restoresOnly?: boolean | undefined;
  /** Milliseconds since the epoch: what is due by then is planned. */
  readonly now: number;
  /** Set where nobody watches; null and absent are the same. */
  readonly unattended?: Unattended | null | undefined;
  /** Where somebody runs this: which guarded removals were named; absent where nothing is guarded. */
  readonly isReleased?: IsReleased | undefined;
  /** Ids of keys in use, with their last use (RFC 3339, null where nobody knows); none when absent. */
  readonly keysInUse?: ReadonlyMap<string, string | null> | undefined;
  /** Pauses that last now; none when absent. */
  readonly suspensions?: readonly Suspension[] | undefined;
  /** The workspaces that are looked at; null and absent are all. */
  readonly scope?: WorkspaceScope | undefined;
}

/**
 * Compares wanted with live. The same sets give the same plan, whatever the order of files, documents
 * and keys; no value of a secret is in it.
 *
 * @throws Failure (invalid input) when the wanted resources refer to each other in a circle, or the
 *   scope names a workspace that is not there
 */
export function makePlan(desired: DesiredSet, live: LiveSet, options: PlanOptions): Plan {
  const before = live.resources.filter(({ owner }) => owner === options.owner);
  const borders = new Borders(desired, before, options.scope ?? null);
  const isInside = ({ identity }: { identity: Identity }): boolean => !borders.isOutside(identity);
  const named = desired.resources.filter(({ previousNames }) => previousNames.length > 0);
  const wanted = desired.resources
    .filter(isInside)
    .map((resource) => ({ key: identityKey(resource.identity), resource }))
    .toSorted((one, two) => (one.key < two.key ? -1 : 1))
    .map(({ resource }) => withRenames(withFingerprints(resource, live.fingerprintKey), named));
  const { resources, claims } = align(wanted, live, options);
  const owned = resources.filter((one) => one.owner === options.owner && isInside(one));
  const byKey = new Map(resources.map((resource) => [identityKey(resource.identity), resource]));
  const draft = new Draft();
  blockMissingExternals(draft, desired.externals.filter(isInside), resources);
  for (const resource of wanted) {
    consider(draft, resource, claims.get(identityKey(resource.identity))!, {
      byKey,
      now: options.now,
    });
  }
  if (options.prune) {
    const { unattended, isReleased, keysInUse = new Map() } = options;
    const removable = owned.filter(({ identity }) => !borders.isHeld(identity));
    planRemovals(draft, removable, claims, (left) => {
      const foreign = options.takeOwnership ? null : recordedElsewhere(left);
      const kept = foreign ?? borders.whyKept();
      if (kept !== null) return kept;
      if (unattended != null) return heldBack(left, desired.source.digest, unattended);
      return isReleased === undefined ? null : guarded(left, isReleased, keysInUse);
    });
  }
  if (options.rotationsOnly === true) draft.keepRotations();
  if (options.restoresOnly === true) draft.keepRestored();
  blockSwitchedOff(draft, live);
  blockSuspended(draft, options.suspensions ?? []);
  blockWhatIsInUse(draft, resources);
  blockDependants(draft, resources);
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
    // Of what the source says anew nothing counts, places of keys among it.
    wanted: options.restoresOnly === true ? [] : wanted,
    owned: owned.length,
    unmanaged: unmanagedIn(resources.filter(isInside)),
    unknown: live.unknown,
    leftAlone: desired.leftAlone,
    faults: borders.faults,
    ignored: draft.ignored,
    warnings: [
      ...(desired.warnings ?? []).map(noteText),
      ...uncomparedHints(wanted, live, byKey),
      ...renameHints(changes),
      ...draft.hints,
    ],
    nextRotationAt: draft.nextRotationAt,
    live: byKey,
  };
}

/** In the order of their identities; the key of the deployment itself is none. */
function unmanagedIn(resources: readonly LiveResource[]): UnmanagedResource[] {
  return resources
    .filter(({ owner, isOfDeployment }) => owner === null && !isOfDeployment)
    .map(({ identity, id }) => ({
      key: identityKey(identity),
      told: { ...identity, resourceId: id },
    }))
    .toSorted((one, two) => (one.key < two.key ? -1 : 1))
    .map(({ told }) => told);
}

/**
 * The wanted spec as compared and remembered: every secret by its keyed fingerprint. Without the key
 * all fingerprints are '' here and on the server, so that values count as equal.
 */
function withFingerprints(resource: DesiredResource, key: Buffer | null): DesiredResource {
  if (key === null || resource.secrets.size === 0) return resource;
  const spec = mapSpec(resource.spec, (value, segments) => {
    if (!isSecret(value)) return undefined;
    const secret = resource.secrets.get(pointerOf(segments));
    if (secret === undefined) return value;
    return { $secret: value.$secret, fingerprint: fingerprintOf(key, secret.reveal()) };
  });
  return { ...resource, spec };
}

/** Most manifests follow no other, and are not copied for it. */
function withRenames(
  resource: DesiredResource,
  named: readonly DesiredResource[],
): DesiredResource {
  const names = renamedBefore(resource, named);
  return names.length === 0 ? resource : { ...resource, renamedBefore: names };
}

type Lookup = ReadonlyMap<string, LiveResource>;

interface Comparison {
  readonly byKey: Lookup;
  readonly now: number;
}

/** Finds what one manifest leads to. */
function consider(
  draft: Draft,
  desired: DesiredResource,
  claim: Claim,
  comparison: Comparison,
): void {
  const { identity, position } = desired;
  const id = identityKey(identity);
  if (claim.standing === 'blocked') {
    draft.block({ id, identity, position, reason: claim.reason, message: claim.message });
  } else if (claim.standing === 'free') {
    const missing = desired.absent ? undefined : keptFault(desired, null);
    if (desired.absent) draft.unchanged += 1;
    else if (missing !== undefined) draft.block(lackingSecrets(desired, missing));
    else draft.add(new CreateChange(desired));
  } else if (!desired.absent) {
    compare(draft, desired, claim, comparison);
  } else if (desired.protected) {
    const message = 'state is absent but metadata.protected is set; remove one of the two';
    draft.block({ id, identity, position, reason: 'protected', message });
  } else if (claim.standing === 'takeover') {
    const message =
      'it is not yours to delete; take it over by an apply without state: absent first';
    draft.block({ id, identity, position, reason: 'other-owner', message });
  } else {
    const held = foreignTo(claim);
    if (held !== null) draft.block({ id, identity, position, ...held });
    else draft.add(changeOf({ action: 'delete', desired, live: claim.live, fields: [] }));
  }
}

/** A tombstone or a replacement is a deletion, too: of what another credential recorded it takes a word. */
function foreignTo({ live, recordsAnew }: Extract<Claim, { standing: 'owned' }>): Held | null {
  return recordsAnew ? null : recordedElsewhere(live);
}

function lackingSecrets({ identity, position }: DesiredResource, message: string): BlockedItem {
  return { id: identityKey(identity), identity, position, reason: 'missing-secret', message };
}

function compare(
  draft: Draft,
  wanted: DesiredResource,
  claim: Extract<Claim, { live: LiveResource }>,
  { byKey, now }: Comparison,
): void {
  const { live, standing } = claim;
  const { desired, base, ignored } = withIgnored(withKeptSecrets(wanted, live), live);
  draft.ignored.push(...ignored);
  const kind = kinds[desired.identity.kind];
  const fields = diffSpecs({
    kind,
    base: standing === 'takeover' ? null : base,
    desired: desired.spec,
    live: live.spec,
    sameReference: (literal, reference) => {
      const target = byKey.get(reference);
      return target !== undefined && (target.id === literal || target.slug === literal);
    },
  });
  const fixed = fields.filter(
    (field) => kind.immutable.includes(topLevelField(field)) && field.difference !== 'recorded',
  );
  const renamed = standing === 'owned' && claim.renamed;
  const missing = keptFault(desired, fixed.length > 0 ? null : fields.map(topLevelField));
  if (missing !== undefined) {
    draft.block(lackingSecrets(desired, missing));
  } else if (fixed.length > 0) {
    const held = irreplaceable(desired, claim, fixed);
    if (held !== null) draft.block(held);
    else draft.add(changeOf({ action: 'replace', desired, live, fields, renamed }));
  } else if (standing === 'takeover') {
    draft.add(changeOf({ action: 'adopt', desired, live, fields }));
  } else {
    keepOrUpdate(draft, desired, { ...claim, base }, fields, now);
  }
}

type OwnedClaim = Extract<Claim, { standing: 'owned' }> & {
  /** What was applied last, as it is compared. */
  readonly base: Spec | null;
};

/** In place: the value of a key is replaced with whatever else differs. */
function keepOrUpdate(
  draft: Draft,
  desired: DesiredResource,
  { live, base, renamed, recordsAnew }: OwnedClaim,
  fields: readonly Difference[],
  now: number,
): void {
  const state = rotationOf(desired, live, fields, now);
  draft.note(state);
  const { rotation } = state;
  if (rotation !== null) {
    draft.add(changeOf({ action: 'rotate', desired, live, fields, renamed, rotation }));
  } else if (fields.length > 0 || renamed || recordsAnew || changesTerms(desired, live)) {
    const isMore = renamed || recordsAnew || changesTerms(desired, live);
    const restores = !isMore && isAsApplied(kinds[desired.identity.kind], base, desired.spec);
    draft.add(changeOf({ action: 'update', desired, live, fields, renamed, restores }));
  } else {
    draft.unchanged += 1;
  }
}

/** Owned and spoken for by no manifest: to be removed, unless it asked to stay. */
function planRemovals(
  draft: Draft,
  owned: readonly LiveResource[],
  claims: ReadonlyMap<string, Claim>,
  holdBack: (live: LiveResource) => Held | null,
): void {
  for (const live of owned) {
    const { identity, source } = live;
    const id = identityKey(identity);
    const claim = claims.get(id);
    if (claim !== undefined && 'live' in claim) continue;
    const place = source === null ? '' : ` (last applied from ${describeSource(source)})`;
    if (source?.protected === true) {
      const message = `it left the source but is protected${place}; declare it again, or apply it \
once without metadata.protected before removing it`;
      draft.block({ id, identity, position: null, reason: 'protected', message });
    } else {
      const action = source?.on_removal === 'retain' ? 'retain' : 'delete';
      const held = action === 'delete' ? holdBack(live) : null;
      if (held !== null) draft.block({ id, identity, position: null, ...held });
      else
        draft.add(
          changeOf({ action, desired: null, live, fields: [], prune: action === 'delete' }),
        );
    }
  }
}

/** Why a resource is not deleted and made anew although these fields cannot be changed in place. */
function irreplaceable(
  desired: DesiredResource,
  claim: Extract<Claim, { live: LiveResource }>,
  fixed: readonly Difference[],
): BlockedItem | null {
  const { identity, position } = desired;
  const item = { id: identityKey(identity), identity, position };
  const names = fixed.map((field) => field.path).join(', ');
  const because = (rule: string): string => `${names} cannot be changed in place, and ${rule}`;
  if (claim.standing === 'takeover') {
    const message = because('what is taken over is never replaced');
    return { ...item, reason: 'other-owner', message };
  }
  if (desired.protected || claim.live.source?.protected === true) {
    const message = because('metadata.protected forbids to replace it');
    return { ...item, reason: 'protected', message };
  }
  const held = foreignTo(claim);
  return held === null ? null : { ...item, ...held, message: because(held.message) };
}

/** `protected`, the deletion annotation and the generation live in the record only; a change of them must reach it. */
function changesTerms(desired: DesiredResource, { source }: LiveResource): boolean {
  return (
    (source?.protected === true) !== desired.protected ||
    (source?.on_removal ?? 'delete') !== desired.onRemoval ||
    wantedGeneration(desired, recordedGeneration({ source })) < recordedGeneration({ source })
  );
}

/** What a plan made without the key does not know. */
function uncomparedHints(
  wanted: readonly DesiredResource[],
  { fingerprintKey }: LiveSet,
  byKey: Lookup,
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

/** A resource that leaves and an equal one that comes look like a rename that would lose the id. */
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
