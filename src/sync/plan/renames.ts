/** Finds the live resource that each manifest continues, under its current or a previous name. */
import { type DesiredResource, identityKey, type LiveResource } from '../resources/resource-set.ts';

/**
 * All names are resolved together, because a name may be given up and reused in the same source:
 * beside `bot-legacy {previousNames: [bot]}` there may be a new `bot`, and chains of such renames.
 * A manifest continues the resource of its own name, unless a manifest without one claims it as its
 * previous name. Then that one takes it, and the other looks among its own previous names. At most
 * one manifest continues each resource.
 *
 * A rename happens once. The record of a later resource with the name lists the manifests that had
 * been called so when it was applied. None of them takes it again, even if what they continue has
 * been deleted meanwhile. A tombstone takes nothing from a desired manifest.
 *
 * @param owned live resources of this owner by identity key
 * @returns the continued resource by the manifest's identity key
 */
export function findContinued(
  desired: readonly DesiredResource[],
  owned: ReadonlyMap<string, LiveResource>,
): Map<string, LiveResource> {
  const wanted = new Map(desired.map((resource) => [identityKey(resource.identity), resource]));
  const continued = new Map<string, LiveResource>();
  const waiting: DesiredResource[] = [];
  for (const [key, resource] of wanted) {
    const own = owned.get(key);
    if (own === undefined) waiting.push(resource);
    else continued.set(key, own);
  }
  const renamed = new Set<LiveResource>();
  for (let resource = waiting.shift(); resource !== undefined; resource = waiting.shift()) {
    for (const name of resource.previousNames) {
      const former = identityKey({ ...resource.identity, name });
      const live = owned.get(former);
      if (live === undefined || renamed.has(live)) continue;
      const loser = wanted.get(former);
      if (loser !== undefined && !yields(live, resource)) continue;
      if (loser !== undefined && continued.delete(former)) waiting.push(loser);
      continued.set(identityKey(resource.identity), live);
      renamed.add(live);
      break;
    }
  }
  return continued;
}

/**
 * Returns whether a resource goes to a manifest of another name although one of its own name
 * exists.
 */
function yields({ source }: LiveResource, heir: DesiredResource): boolean {
  return !heir.absent && source?.renamed_before?.includes(heir.identity.name) !== true;
}

/** Returns the names of the manifests that were once called as `resource` is now. */
export function renamedBefore(
  resource: DesiredResource,
  desired: readonly DesiredResource[],
): string[] {
  const { kind, workspace, name } = resource.identity;
  return desired
    .filter(
      ({ identity, previousNames }) =>
        identity.kind === kind && identity.workspace === workspace && previousNames.includes(name),
    )
    .map(({ identity }) => identity.name);
}
