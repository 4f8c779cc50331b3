/** Settles the slugs of resources whose manifest sets none. */
import { freeDefaultSlug, hasDefaultSlug } from '../../model/kinds/default-slugs.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
} from '../resources/resource-set.ts';
import type { OwnershipClaim } from './ownership.ts';

/**
 * Returns the desired resources with slugs. A resource that will be created gets the name of its manifest;
 * an existing one keeps the slug that was applied last, because others may use it. Without an applied slug
 * the field is not managed.
 */
export function withSettledSlugs(
  desired: readonly DesiredResource[],
  live: readonly LiveResource[],
  claims: ReadonlyMap<string, OwnershipClaim>,
): DesiredResource[] {
  const open = desired.filter(isOpen);
  if (open.length === 0) return [...desired];
  const taken = new Set<string>();
  for (const { identity, slug } of live) if (slug !== null) taken.add(slugKey(identity, slug));
  for (const { identity, spec } of desired) {
    if (typeof spec.slug === 'string') taken.add(slugKey(identity, spec.slug));
  }
  return desired.map((resource) => {
    if (!isOpen(resource)) return resource;
    const { identity } = resource;
    const claim = claims.get(identityKey(identity));
    if (claim?.standing === 'owned') return withSlug(resource, claim.live.base?.slug);
    if (claim?.standing !== 'free') return resource;
    const isTaken = (slug: string): boolean => taken.has(slugKey(identity, slug));
    const slug = freeDefaultSlug(identity.name, identity.workspace, isTaken);
    taken.add(slugKey(identity, slug));
    return withSlug(resource, slug);
  });
}

/** Returns a resource that replaces a live one, under the slug of that one unless its manifest sets another. */
export function withReplacedSlug(desired: DesiredResource, live: LiveResource): DesiredResource {
  return isOpen(desired) ? withSlug(desired, live.slug) : desired;
}

/** Whether the manifest leaves open which slug the resource has. */
function isOpen({ identity, spec, absent }: DesiredResource): boolean {
  return !absent && spec.slug === undefined && hasDefaultSlug(identity.kind);
}

function withSlug(resource: DesiredResource, slug: unknown): DesiredResource {
  if (typeof slug !== 'string') return resource;
  return { ...resource, spec: { ...resource.spec, slug } };
}

/** Slugs of providers are unique in their workspace, all others in the organisation. */
function slugKey({ kind, workspace }: Identity, slug: string): string {
  return kind === 'Provider' ? `${kind} ${workspace} ${slug}` : `${kind} ${slug}`;
}
