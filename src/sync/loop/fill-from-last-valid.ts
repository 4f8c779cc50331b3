/** Fills the invalid parts of a source with what they declared in the last valid version. */
import {
  type DesiredResource,
  type DesiredSet,
  type Identity,
  identityKey,
  owningWorkspace,
} from '../resources/resource-set.ts';

/**
 * Replaces the invalid workspaces of `now` by those of `before`, so that drift in them is still
 * found. This never deletes anything: tombstones of `before` are dropped, and resources missing
 * from it do not count as having left the source.
 */
export function fillFromLastValid(now: DesiredSet, before: DesiredSet | null): DesiredSet {
  const { faults = [] } = now;
  if (faults.length === 0 || before === null) return now;
  const held = new Set<string | null>(faults.flatMap(({ workspaces }) => workspaces));
  for (const unread of faults.flatMap((fault) => fault.unread ?? [])) {
    const isFrom = ({ position: { file } }: DesiredResource): boolean =>
      file === unread || file.startsWith(`${unread}/`);
    for (const { identity } of before.resources.filter(isFrom)) held.add(owningWorkspace(identity));
  }
  const isHeld = ({ identity }: { readonly identity: Identity }): boolean =>
    held.has(owningWorkspace(identity));
  const sound = now.resources.filter((resource) => !isHeld(resource));
  const externals = [
    ...now.externals.filter((external) => !isHeld(external)),
    ...before.externals.filter(isHeld),
  ];
  const there = [...sound.filter(({ absent }) => !absent), ...externals];
  const wanted = before.resources.filter((resource) => isHeld(resource) && !resource.absent);
  const filled = withoutUnresolved(wanted, there.map(keyOf));
  const lastSound = new Set(wanted.map(({ identity }) => owningWorkspace(identity)));
  return { ...now, resources: [...sound, ...filled], externals, lastValid: lastSound };
}

function keyOf({ identity }: { readonly identity: Identity }): string {
  return identityKey(identity);
}

/** Drops resources that refer to something that is no longer declared, or has another name now. */
function withoutUnresolved(
  resources: readonly DesiredResource[],
  there: readonly string[],
): readonly DesiredResource[] {
  const known = new Set([...there, ...resources.map(keyOf)]);
  const isWhole = ({ references }: DesiredResource): boolean =>
    references.every((reference) => known.has(identityKey(reference)));
  const whole = resources.filter(isWhole);
  return whole.length === resources.length ? whole : withoutUnresolved(whole, there);
}
