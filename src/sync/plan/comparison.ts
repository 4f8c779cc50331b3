/** Compares the desired resources with the live ones and drafts one change or block for each. */
import { kinds } from '../../model/kinds/kinds.ts';
import { fingerprintOf } from '../../model/manifests/fingerprint.ts';
import { type Difference, diffSpecs, isAsApplied, topLevelField } from '../diff/diff.ts';
import { withIgnoredFields } from '../diff/ignored-fields.ts';
import { unsetSecretFault, withUnsetSecrets } from '../diff/unset-secrets.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type Identity,
  identityKey,
  type LiveResource,
  type LiveSet,
  type Spec,
} from '../resources/resource-set.ts';
import { isSecret, mapSpec, pointerOf } from '../resources/spec-paths.ts';
import type { WorkspaceScope } from '../resources/workspace-scope.ts';
import { blockMissingExternals } from './blocking.ts';
import { CreateChange, changeOf } from './draft-change.ts';
import { KnownGuardrails } from './known-guardrails.ts';
import { KnownProviders } from './known-providers.ts';
import { findMovedSlugs, type MovedSlugs, withMovedSlugs } from './moved-slugs.ts';
import {
  alignOwnership,
  describeSource,
  type OwnershipClaim,
  type OwnershipOptions,
} from './ownership.ts';
import { type BlockedItem, type DraftChange, PlanDraft } from './plan-model.ts';
import { PlanScope } from './plan-scope.ts';
import {
  holdGuarded,
  holdRecordedElsewhere,
  holdUnattended,
  type IsReleased,
  type RemovalHold,
  type UnattendedTerms,
} from './removal-holds.ts';
import { renamedBefore } from './renames.ts';
import { recordedGeneration, rotationOf, wantedGeneration } from './rotation.ts';
import { withReplacedSlug, withSettledSlugs } from './settled-slugs.ts';

export interface ComparisonOptions extends OwnershipOptions {
  /** False keeps resources that left the source without a tombstone. */
  readonly prune: boolean;
  /** Plans only the rotation of keys that are due. */
  readonly rotationsOnly?: boolean | undefined;
  /** Plans only what restores the state applied last after others changed it. */
  readonly restoresOnly?: boolean | undefined;
  /** Milliseconds since the epoch; rotations due by then are planned. */
  readonly now: number;
  /** Set when nobody watches the run; null and absent are the same. */
  readonly unattended?: UnattendedTerms | null | undefined;
  /** Set when a person runs it: tells which guarded removals they named. Absent guards nothing. */
  readonly isReleased?: IsReleased | undefined;
  /** The workspaces that are compared; null and absent mean all. */
  readonly scope?: WorkspaceScope | undefined;
}

/** The drafted changes of one desired and one live set, before the blocks of a plan. */
export interface SetComparison {
  readonly desired: DesiredSet;
  readonly live: LiveSet;
  readonly options: ComparisonOptions;
  readonly draft: PlanDraft;
  readonly borders: PlanScope;
  /** Desired resources within the scope, with fingerprints, ordered by identity key. */
  readonly wanted: readonly DesiredResource[];
  /** Live resources under the identities that the manifests give them. */
  readonly resources: readonly LiveResource[];
  /** Number of live resources of this owner within the scope. */
  readonly ownedCount: number;
}

/**
 * Compares both sides. Equal sets give equal comparisons, whatever the order of files, documents and
 * keys. Secret values are compared by fingerprint and never copied.
 *
 * @throws Failure (invalid input) when the scope names an unknown workspace
 */
export function compareSets(
  desired: DesiredSet,
  live: LiveSet,
  options: ComparisonOptions,
): SetComparison {
  const before = live.resources.filter(({ owner }) => owner === options.owner);
  const borders = new PlanScope(desired, before, options.scope ?? null);
  const isInside = ({ identity }: { identity: Identity }): boolean => !borders.isOutside(identity);
  const named = desired.resources.filter(({ previousNames }) => previousNames.length > 0);
  const declared = desired.resources
    .filter(isInside)
    .map((resource) => ({ key: identityKey(resource.identity), resource }))
    .toSorted((one, two) => (one.key < two.key ? -1 : 1))
    .map(({ resource }) => withRenames(withFingerprints(resource, live.fingerprintKey), named));
  const { resources, claims } = alignOwnership(declared, live, options);
  const settled = withSettledSlugs(declared, resources, claims);
  const providers = new KnownProviders(settled, resources);
  const hasGuardrails = live.switchedOff?.has('Guardrail') !== true;
  const guardrails = new KnownGuardrails(settled, resources, hasGuardrails);
  const wanted = settled.map((resource) => guardrails.withNamed(providers.withNamed(resource)));
  const owned = resources.filter((one) => one.owner === options.owner && isInside(one));
  const byKey = new Map(resources.map((resource) => [identityKey(resource.identity), resource]));
  const context = {
    byKey,
    now: options.now,
    movedSlugs: findMovedSlugs(wanted, byKey),
    known: [providers, guardrails],
  };
  const draft = new PlanDraft();
  blockMissingExternals(draft, desired.externals.filter(isInside), resources);
  for (const resource of wanted) {
    const claim = claims.get(identityKey(resource.identity))!;
    considerManifest(draft, resource, claim, context);
  }
  if (options.prune) {
    const removable = owned.filter(({ identity }) => !borders.isHeld(identity));
    planRemovals(draft, removable, claims, (left) => findHold(left, { desired, borders, options }));
  }
  if (options.rotationsOnly === true) draft.keepRotations();
  if (options.restoresOnly === true) draft.keepRestored();
  return { desired, live, options, draft, borders, wanted, resources, ownedCount: owned.length };
}

/** Returns why a resource that left the source stays for now; null when it may be deleted. */
function findHold(
  left: LiveResource,
  { desired, borders, options }: Pick<SetComparison, 'desired' | 'borders' | 'options'>,
): RemovalHold | null {
  const foreign = options.takeOwnership ? null : holdRecordedElsewhere(left);
  const hold = foreign ?? borders.whyNothingPruned();
  if (hold !== null) return hold;
  const { unattended, isReleased } = options;
  if (unattended != null) return holdUnattended(left, desired.source.digest, unattended);
  return isReleased === undefined ? null : holdGuarded(left, isReleased);
}

/**
 * Replaces every secret of the spec by its keyed fingerprint, the form that is compared and recorded.
 * Without the key all fingerprints are '' on both sides, so that values count as equal.
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

/** Copies the resource only when it continues a renamed one, which is rare. */
function withRenames(
  resource: DesiredResource,
  named: readonly DesiredResource[],
): DesiredResource {
  const names = renamedBefore(resource, named);
  return names.length === 0 ? resource : { ...resource, renamedBefore: names };
}

interface ComparisonContext {
  readonly byKey: ReadonlyMap<string, LiveResource>;
  readonly now: number;
  readonly movedSlugs: MovedSlugs;
  /** The kinds whose slugs resources may name. */
  readonly known: readonly Pick<KnownProviders, 'unknownIn'>[];
}

/** Adds the change or the block that one manifest leads to. */
function considerManifest(
  draft: PlanDraft,
  desired: DesiredResource,
  claim: OwnershipClaim,
  context: ComparisonContext,
): void {
  const { identity, position } = desired;
  const id = identityKey(identity);
  const unknown =
    context.known
      .values()
      .map((one) => one.unknownIn(desired))
      .find((one) => one !== null) ?? null;
  if (claim.standing === 'blocked') {
    draft.block({ id, identity, position, reason: claim.reason, message: claim.message });
  } else if (unknown !== null) {
    draft.block(unknown);
  } else if (claim.standing === 'free') {
    const missing = desired.absent ? undefined : unsetSecretFault(desired, null);
    if (desired.absent) draft.unchanged += 1;
    else if (missing !== undefined) draft.block(lackingSecrets(desired, missing));
    else draft.add(new CreateChange(desired));
  } else if (!desired.absent) {
    compareOwned(draft, desired, claim, context);
  } else if (desired.protected) {
    const message = 'state is absent but metadata.protected is set; remove one of the two';
    draft.block({ id, identity, position, reason: 'protected', message });
  } else if (claim.standing === 'takeover') {
    const message =
      'it is not yours to delete; take it over by an apply without state: absent first';
    draft.block({ id, identity, position, reason: 'other-owner', message });
  } else {
    const held = holdForeign(claim);
    if (held !== null) draft.block({ id, identity, position, ...held });
    else draft.add(changeOf({ action: 'delete', desired, live: claim.live, fields: [] }));
  }
}

/** Tombstones and replacements delete too, so they need a release for what another credential recorded. */
function holdForeign({
  live,
  recordsAnew,
}: Extract<OwnershipClaim, { standing: 'owned' }>): RemovalHold | null {
  return recordsAnew ? null : holdRecordedElsewhere(live);
}

function lackingSecrets({ identity, position }: DesiredResource, message: string): BlockedItem {
  return { id: identityKey(identity), identity, position, reason: 'missing-secret', message };
}

function compareOwned(
  draft: PlanDraft,
  wanted: DesiredResource,
  claim: Extract<OwnershipClaim, { live: LiveResource }>,
  { byKey, now, movedSlugs }: ComparisonContext,
): void {
  const { live, standing } = claim;
  const { desired, base, ignored } = withIgnoredFields(withUnsetSecrets(wanted, live), live);
  draft.ignored.push(...ignored);
  const kind = kinds[desired.identity.kind];
  const fields = diffSpecs({
    kind,
    base: standing === 'takeover' ? null : base,
    desired: desired.spec,
    live: withMovedSlugs(desired.identity.kind, live.spec, movedSlugs),
    sameReference: (literal, reference) => {
      const target = byKey.get(reference);
      const name = literal.replace(/^@/, '');
      const slug = movedSlugs.get(reference)?.after ?? target?.slug;
      return target !== undefined && (target.id === name || slug === name);
    },
  });
  const fixed = fields.filter(
    (field) => kind.immutable.includes(topLevelField(field)) && field.difference !== 'recorded',
  );
  const renamed = standing === 'owned' && claim.renamed;
  const missing = unsetSecretFault(desired, fixed.length > 0 ? null : fields.map(topLevelField));
  if (missing !== undefined) {
    draft.block(lackingSecrets(desired, missing));
  } else if (fixed.length > 0) {
    const held = irreplaceable(desired, claim, fixed);
    if (held !== null) draft.block(held);
    else draft.add(replacement({ desired, live, fields, renamed }));
  } else if (standing === 'takeover') {
    draft.add(changeOf({ action: 'adopt', desired, live, fields }));
  } else {
    keepOrUpdate(draft, desired, { ...claim, base }, fields, now);
  }
}

function replacement(
  parts: Pick<Parameters<typeof changeOf>[0], 'fields' | 'renamed'> & {
    readonly desired: DesiredResource;
    readonly live: LiveResource;
  },
): DraftChange {
  const desired = withReplacedSlug(parts.desired, parts.live);
  return changeOf({ ...parts, action: 'replace', desired });
}

type OwnedClaim = Extract<OwnershipClaim, { standing: 'owned' }> & {
  /** The spec applied last, in the form that is compared. */
  readonly base: Spec | null;
};

/** Updates in place; a due key rotation takes the other differences along. */
function keepOrUpdate(
  draft: PlanDraft,
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

/** Removes owned resources that no manifest declares, unless their record says to retain them. */
function planRemovals(
  draft: PlanDraft,
  owned: readonly LiveResource[],
  claims: ReadonlyMap<string, OwnershipClaim>,
  holdBack: (live: LiveResource) => RemovalHold | null,
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

/** Returns why a resource must not be replaced although its fixed fields differ; null when it may be. */
function irreplaceable(
  desired: DesiredResource,
  claim: Extract<OwnershipClaim, { live: LiveResource }>,
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
  const held = holdForeign(claim);
  return held === null ? null : { ...item, ...held, message: because(held.message) };
}

/** `protected`, the deletion annotation and the generation exist only in the record, so a change of them is an update. */
function changesTerms(desired: DesiredResource, { source }: LiveResource): boolean {
  return (
    (source?.protected === true) !== desired.protected ||
    (source?.on_removal ?? 'delete') !== desired.onRemoval ||
    wantedGeneration(desired, recordedGeneration({ source })) < recordedGeneration({ source })
  );
}
