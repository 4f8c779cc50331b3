/**
 * Decides which live resource a manifest may change: its own, one that it may take over, or none.
 */
import { kinds } from '../../model/kinds/kinds.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
  type LiveSet,
  type ManagedSource,
  type Spec,
} from '../resources/resource-set.ts';
import { isReference, mapSpec } from '../resources/spec-paths.ts';
import { findContinued } from './renames.ts';

/** Why a resource must be left alone. */
export type BlockReason =
  | 'unmanaged-twin'
  | 'other-owner'
  | 'protected'
  | 'in-use'
  | 'missing-external'
  | 'missing-secret'
  | 'unknown-provider'
  | 'unknown-guardrail'
  | 'dependency'
  | 'settling'
  | 'unattended'
  | 'guarded'
  | 'used-key'
  | 'parent-stays'
  | 'suspended'
  | 'switched-off'
  | 'unread'
  | 'other-credential';

/** `live` has the identity of the manifest, even if the server has another. */
export type OwnershipClaim =
  | { readonly standing: 'free' }
  | {
      readonly standing: 'owned';
      readonly live: LiveResource;
      readonly renamed: boolean;
      /** The record belongs to another credential, and this run may replace it. */
      readonly recordsAnew: boolean;
    }
  | { readonly standing: 'takeover'; readonly live: LiveResource }
  | { readonly standing: 'blocked'; readonly reason: BlockReason; readonly message: string };

export interface Alignment {
  /** The live resources, with renamed and taken-over ones under their new identity. */
  readonly resources: readonly LiveResource[];
  /** One claim for each desired resource, by identity key. */
  readonly claims: ReadonlyMap<string, OwnershipClaim>;
}

export interface OwnershipOptions {
  readonly owner: string;
  readonly takeOwnership: boolean;
}

/**
 * Finds the live counterpart of every manifest, by identity and never by content. Resources that
 * this owner declared under the current or a previous name are its own. Resources of another owner
 * or of nobody are taken only with `takeOwnership`. Workspaces come first, because identities inside
 * them depend on theirs.
 */
export function alignOwnership(
  desired: readonly DesiredResource[],
  live: LiveSet,
  options: OwnershipOptions,
): Alignment {
  const claims = new Map<string, OwnershipClaim>();
  let { resources } = live;
  let index = indexLive(resources, options.owner);
  for (const phase of phasesOf(desired)) {
    const claimed = claimAll(phase, index, options);
    for (const [key, claim] of claimed.claims) claims.set(key, claim);
    if (claimed.renames.size === 0) continue;
    resources = rename(resources, claimed.renames, options.owner);
    index = indexLive(resources, options.owner);
  }
  return { resources, claims: resources === live.resources ? claims : renamed(claims, resources) };
}

/** Updates claims to the final identities of their live resources. */
function renamed(
  claims: ReadonlyMap<string, OwnershipClaim>,
  resources: readonly LiveResource[],
): Map<string, OwnershipClaim> {
  const byId = new Map(resources.map((resource) => [resource.id, resource]));
  return new Map(
    claims
      .entries()
      .map(([key, claim]) => [
        key,
        'live' in claim ? { ...claim, live: byId.get(claim.live.id)! } : claim,
      ]),
  );
}

/**
 * Resources identified by others come after them: by their workspace, or, without a name, by both
 * ends.
 */
function phasesOf(desired: readonly DesiredResource[]): DesiredResource[][] {
  const phases = Map.groupBy(desired, ({ identity: { kind } }) =>
    kind === 'Workspace' ? 0 : kind === 'GuardrailMcpBinding' ? 2 : 1,
  );
  return ([0, 1, 2] as const).map((phase) => phases.get(phase) ?? []);
}

interface PhaseClaims {
  readonly claims: ReadonlyMap<string, OwnershipClaim>;
  /** The identity in the manifests of live resources (by id) that have another on the server. */
  readonly renames: ReadonlyMap<string, Identity>;
}

function claimAll(
  desired: readonly DesiredResource[],
  index: LiveIndex,
  options: OwnershipOptions,
): PhaseClaims {
  const continued = findContinued(desired, index.owned);
  const claims = new Map<string, OwnershipClaim>();
  const renames = new Map<string, Identity>();
  for (const resource of desired) {
    const key = identityKey(resource.identity);
    const found = claim(resource, index, continued.get(key), options.takeOwnership);
    claims.set(key, found);
    if ('live' in found && !isSame(found.live.identity, resource.identity)) {
      renames.set(found.live.id, resource.identity);
    }
  }
  return { claims, renames };
}

function isSame(one: Identity, other: Identity): boolean {
  return one.name === other.name && one.workspace === other.workspace && one.kind === other.kind;
}

/** Live resources by their owner. */
interface LiveIndex {
  readonly owned: ReadonlyMap<string, LiveResource>;
  readonly foreign: ReadonlyMap<string, LiveResource>;
  /** By kind and workspace. */
  readonly unmanaged: ReadonlyMap<string, readonly LiveResource[]>;
}

function indexLive(resources: readonly LiveResource[], owner: string): LiveIndex {
  const owned = new Map<string, LiveResource>();
  const foreign = new Map<string, LiveResource>();
  for (const resource of resources) {
    if (resource.owner === null) continue;
    (resource.owner === owner ? owned : foreign).set(identityKey(resource.identity), resource);
  }
  const unmanaged = Map.groupBy(
    resources.filter((resource) => resource.owner === null),
    (resource) => placeKey(resource.identity),
  );
  return { owned, foreign, unmanaged };
}

function claim(
  desired: DesiredResource,
  index: LiveIndex,
  own: LiveResource | undefined,
  takeOwnership: boolean,
): OwnershipClaim {
  if (own !== undefined) {
    // Renaming a workspace renames its contents; the record on the server does not say so yet.
    const renamed = own.declared !== identityKey(desired.identity);
    const recordsAnew = takeOwnership && !own.isRecordedHere;
    return { standing: 'owned', live: own, renamed, recordsAnew };
  }
  const foreign = index.foreign.get(identityKey(desired.identity));
  if (foreign === undefined) return claimUnmanaged(desired, index, takeOwnership);
  return takeOwnership
    ? { standing: 'takeover', live: foreign }
    : { standing: 'blocked', reason: 'other-owner', message: otherOwner(foreign) };
}

function claimUnmanaged(
  desired: DesiredResource,
  index: LiveIndex,
  takeOwnership: boolean,
): OwnershipClaim {
  const neighbours = index.unmanaged.get(placeKey(desired.identity)) ?? [];
  const [twin, ...more] = neighbours.filter((live) => isTwin(desired, live));
  if (twin === undefined) return { standing: 'free' };
  const { kind } = desired.identity;
  if (more.length > 0) {
    const ids = [twin, ...more].map((live) => live.id).join(', ');
    const message = `several unmanaged ${kind} resources of that name exist on the server \
(ids ${ids}); rename or delete all but one`;
    return { standing: 'blocked', reason: 'unmanaged-twin', message };
  }
  if (takeOwnership) return { standing: 'takeover', live: twin };
  const message = `an unmanaged ${kind} of that name exists on the server (id ${twin.id}); \
take it over with --take-ownership, or choose another name`;
  return { standing: 'blocked', reason: 'unmanaged-twin', message };
}

/**
 * Compares name or slug; a binding has neither and is identified by the two resources that it
 * connects.
 */
function isTwin(desired: DesiredResource, live: LiveResource): boolean {
  const { name, slug } = desired.spec;
  if (live.slug !== null && live.slug === slug) return true;
  const { title } = kinds[desired.identity.kind];
  if (title !== undefined) return live.title === desired.spec[title];
  if (live.title !== '') return live.title === desired.identity.name || live.title === name;
  const { references, immutable } = kinds[desired.identity.kind];
  const ends = references.map(({ path }) => path).filter((path) => immutable.includes(path));
  return (
    ends.some((path) => path !== 'workspace_id') &&
    ends.every((path) => JSON.stringify(desired.spec[path]) === JSON.stringify(live.spec[path]))
  );
}

/** Gives resources their new identity and rewrites every reference to them. */
function rename(
  resources: readonly LiveResource[],
  renames: ReadonlyMap<string, Identity>,
  owner: string,
): LiveResource[] {
  const workspaces = new Map<string, string>();
  for (const { id, identity } of resources) {
    const to = renames.get(id);
    if (to?.kind === 'Workspace') workspaces.set(identity.name, to.name);
  }
  const renamed = resources.map((resource) => {
    const { identity } = resource;
    const isForeign = resource.owner !== null && resource.owner !== owner;
    const workspace =
      (isForeign ? undefined : workspaces.get(identity.workspace ?? '')) ?? identity.workspace;
    return { ...resource, identity: renames.get(resource.id) ?? { ...identity, workspace } };
  });
  const keys = new Map(
    resources.map((resource, at) => [
      identityKey(resource.identity),
      identityKey(renamed[at]!.identity),
    ]),
  );
  const rewrite = (spec: Spec): Spec =>
    mapSpec(spec, (value) =>
      isReference(value) ? { $ref: keys.get(value.$ref) ?? value.$ref } : undefined,
    );
  return renamed.map((resource) => ({
    ...resource,
    spec: rewrite(resource.spec),
    base: resource.base === null ? null : rewrite(resource.base),
  }));
}

function otherOwner(live: LiveResource): string {
  const place = live.source === null ? '' : `, declared in ${describeSource(live.source)}`;
  return `it belongs to owner "${live.owner}"${place}; remove it there, or take it over with \
--take-ownership`;
}

/**
 * Formats a source as `https://git.example/x@4f2a01b2c3d4 file.yaml:12`; unknown parts are left
 * out.
 */
export function describeSource(source: ManagedSource): string {
  const revision = source.revision === null ? '' : `@${source.revision.slice(0, 12)}`;
  const line = source.line === undefined ? '' : `:${source.line}`;
  const file = source.file === undefined ? '' : ` ${source.file}${line}`;
  return `${source.repo}${revision}${file}`;
}

function placeKey(identity: Identity): string {
  return `${identity.kind}/${identity.workspace ?? ''}`;
}
