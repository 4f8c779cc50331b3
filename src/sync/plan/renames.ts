/** Knows which live resource each manifest continues: under its own name, or under one that it had before. */
import { type DesiredResource, identityKey, type LiveResource } from '../resources/resource-set.ts';

/**
 * Settles all names together, because one may be given up and taken anew in the same source: beside
 * `bot-legacy {previousNames: [bot]}` a new `bot` may stand, and chains of them. A manifest continues
 * the resource of its own name, unless a manifest that has none says that it is the one that was
 * called so; that one takes it, and the loser looks among its own previous names. Each resource is
 * continued by one manifest at most.
 *
 * A rename happens once. What a later resource of the name is, its record tells: it lists the manifests
 * that had been called so when it was applied, and none of them takes it again, not even when what it
 * continues has been deleted meanwhile. A tombstone takes nothing from a manifest that is wanted.
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

/** Whether a resource goes to a manifest of another name although one of its own is there. */
function yields({ source }: LiveResource, heir: DesiredResource): boolean {
  return !heir.absent && source?.renamed_before?.includes(heir.identity.name) !== true;
}

/** Names of the manifests that were once called as `resource` is now. */
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
