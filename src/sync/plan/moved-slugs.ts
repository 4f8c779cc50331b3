/** Finds slugs that a plan changes, so that references by slug are written again. */
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import {
  type DesiredResource,
  identityKey,
  type LiveResource,
  type Spec,
} from '../resources/resource-set.ts';
import { isReference, mapSpec } from '../resources/spec-paths.ts';

/** By identity key. */
export type MovedSlugs = ReadonlyMap<string, { readonly before: string; readonly after: string }>;

export function findMovedSlugs(
  desired: readonly DesiredResource[],
  live: ReadonlyMap<string, LiveResource>,
): MovedSlugs {
  const moved = new Map<string, { before: string; after: string }>();
  for (const { identity, spec, absent } of desired) {
    const before = live.get(identityKey(identity))?.slug ?? null;
    const { slug: after } = spec;
    if (absent || before === null || typeof after !== 'string' || after === before) continue;
    moved.set(identityKey(identity), { before, after });
  }
  return moved;
}

/**
 * Returns a live spec with the previous slugs in place of references by slug to moved resources, which the
 * comparison then finds to differ.
 */
export function withMovedSlugs(kind: KindName, live: Spec, moved: MovedSlugs): Spec {
  const bySlug = kinds[kind].references.filter(({ by }) => by === 'slug');
  if (moved.size === 0 || bySlug.length === 0) return live;
  return mapSpec(live, (value, segments) => {
    const slugs = isReference(value) ? moved.get(value.$ref) : undefined;
    if (slugs === undefined) return undefined;
    const field = bySlug.find(({ path }) => matchesPattern(path, segments));
    return field === undefined ? undefined : `${field.prefix ?? ''}${slugs.before}`;
  });
}
