/**
 * Gives live resources their identities: from an External or the owner's record, else from their
 * names.
 */
import type { SnapshotResource } from '../../model/kinds/snapshot.ts';
import { type ExternalResource, type Identity, identityKey } from '../resources/resource-set.ts';

/** Identifies every resource uniquely, because references use the identity. */
export function identify(
  resources: readonly SnapshotResource[],
  owner: string,
  externals: readonly ExternalResource[],
): Map<SnapshotResource, Identity> {
  const names = new LiveNames(owner, externals);
  // Workspaces come first: identities inside them depend on theirs.
  names.take(resources.filter(({ kind }) => kind === 'Workspace'));
  names.take(resources.filter(({ kind }) => kind !== 'Workspace'));
  return names.identities;
}

class LiveNames {
  readonly identities = new Map<SnapshotResource, Identity>();
  readonly #owner: string;
  readonly #externals: readonly ExternalResource[];
  readonly #used = new Set<string>();
  /** Workspace names in identities, by workspace id. */
  readonly #workspaces = new Map<string, string>();

  constructor(owner: string, externals: readonly ExternalResource[]) {
    this.#owner = owner;
    this.#externals = externals;
  }

  take(resources: readonly SnapshotResource[]): void {
    for (const external of this.#externals) {
      const found = resources.filter((resource) => this.#isMeant(external, resource));
      // An External that matches several resources matches none, because it is ambiguous.
      if (found.length === 1) this.#give(found[0]!, external.identity, true);
    }
    for (const resource of resources) {
      const { kind, managed_by: managed } = resource;
      if (managed === null || this.identities.has(resource)) continue;
      const identity = { kind, workspace: managed.workspace, name: managed.name };
      this.#give(resource, identity, managed.owner === this.#owner);
    }
    for (const resource of resources) {
      if (this.identities.has(resource)) continue;
      const { kind, id, slug, name } = resource;
      const own = kind === 'Workspace' ? (slug ?? id) : (name ?? slug ?? id);
      const identity = { kind, workspace: this.#workspaceOf(resource), name: own };
      const isTaken = this.#used.has(identityKey(identity));
      this.#give(resource, isTaken ? { ...identity, name: `${own} (${id})` } : identity, false);
    }
  }

  #isMeant({ identity, by, lookup }: ExternalResource, resource: SnapshotResource): boolean {
    if (identity.kind !== resource.kind || this.identities.has(resource)) return false;
    // Names, and the slugs of providers, are unique in their workspace only.
    const isLocal = by === 'name' || (by === 'slug' && identity.kind === 'Provider');
    if (isLocal && this.#workspaceOf(resource) !== identity.workspace) return false;
    return lookup === resource[by];
  }

  #workspaceOf({ workspace_id: id }: SnapshotResource): string | null {
    return id === null ? null : (this.#workspaces.get(id) ?? id);
  }

  /** @param isKnown whether this owner's manifests name the workspace; else its slug is used */
  #give(resource: SnapshotResource, identity: Identity, isKnown: boolean): void {
    this.identities.set(resource, identity);
    this.#used.add(identityKey(identity));
    const { kind, id, slug } = resource;
    if (kind === 'Workspace') this.#workspaces.set(id, isKnown ? identity.name : (slug ?? id));
  }
}
