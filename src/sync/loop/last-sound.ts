/** Knows what stands for the part of a source that is wrong: what it said there when it was last right. */
import {
  type DesiredResource,
  type DesiredSet,
  type Identity,
  identityKey,
  workspaceOf,
} from '../resources/resource-set.ts';

/**
 * A source that is wrong in some workspaces, with what was right there before in their place, so that what others
 * change there is still seen. Nothing is removed by it: tombstones of before are left out, and what it does not
 * hold has not left the source.
 */
export function withLastSound(now: DesiredSet, before: DesiredSet | null): DesiredSet {
  const { faults = [] } = now;
  if (faults.length === 0 || before === null) return now;
  const held = new Set<string | null>(faults.flatMap(({ workspaces }) => workspaces));
  for (const unread of faults.flatMap((fault) => fault.unread ?? [])) {
    const isFrom = ({ position: { file } }: DesiredResource): boolean =>
      file === unread || file.startsWith(`${unread}/`);
    for (const { identity } of before.resources.filter(isFrom)) held.add(workspaceOf(identity));
  }
  const isHeld = ({ identity }: { readonly identity: Identity }): boolean =>
    held.has(workspaceOf(identity));
  const sound = now.resources.filter((resource) => !isHeld(resource));
  const externals = [
    ...now.externals.filter((external) => !isHeld(external)),
    ...before.externals.filter(isHeld),
  ];
  const there = [...sound.filter(({ absent }) => !absent), ...externals];
  const wanted = before.resources.filter((resource) => isHeld(resource) && !resource.absent);
  const kept = withoutLost(wanted, there.map(keyOf));
  const lastSound = new Set(wanted.map(({ identity }) => workspaceOf(identity)));
  return { ...now, resources: [...sound, ...kept], externals, lastSound };
}

function keyOf({ identity }: { readonly identity: Identity }): string {
  return identityKey(identity);
}

/** What refers to something that is declared no more, or under another name, is left as it is. */
function withoutLost(
  resources: readonly DesiredResource[],
  there: readonly string[],
): readonly DesiredResource[] {
  const known = new Set([...there, ...resources.map(keyOf)]);
  const isWhole = ({ references }: DesiredResource): boolean =>
    references.every((reference) => known.has(identityKey(reference)));
  const whole = resources.filter(isWhole);
  return whole.length === resources.length ? whole : withoutLost(whole, there);
}
