/** Finds providers that configs name by slug and that will not exist after a plan. */
import { providerReferences } from '../../model/configs/provider-references.ts';
import { nearest } from '../../suggest.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
} from '../resources/resource-set.ts';
import { pointerOf } from '../resources/spec-paths.ts';
import type { BlockedItem } from './plan-model.ts';

/** The slugs and ids of the providers that exist after a plan. */
export class KnownProviders {
  readonly #byWorkspace = new Map<string | null, Map<string, Identity>>();
  /** Providers of all workspaces; undefined until a config of the organisation needs them. */
  #ofAll: ReadonlyMap<string, Identity> | undefined;

  /**
   * @param desired with the slugs that they will have
   * @param live under the identities that the manifests give them
   */
  constructor(desired: readonly DesiredResource[], live: readonly LiveResource[]) {
    const declared = new Map(
      desired
        .filter(({ identity }) => identity.kind === 'Provider')
        .map((resource) => [identityKey(resource.identity), resource]),
    );
    for (const { identity, id, slug } of live) {
      if (identity.kind !== 'Provider') continue;
      const manifest = declared.get(identityKey(identity));
      if (manifest?.absent === true) continue;
      this.#add(identity, [id, manifest?.spec.slug ?? slug]);
    }
    for (const { identity, spec, absent } of declared.values()) {
      if (!absent) this.#add(identity, [spec.slug]);
    }
  }

  /** Returns why a config cannot be written; null for other kinds, and when every provider is known. */
  unknownIn({ identity, spec, absent, positionOf }: DesiredResource): BlockedItem | null {
    if (identity.kind !== 'Config' || absent) return null;
    const { workspace } = identity;
    const known = this.#reachable(workspace);
    const unknown = providerReferences(spec.config).find(({ provider }) => !known.has(provider));
    if (unknown === undefined) return null;
    const { path, provider } = unknown;
    const owner =
      workspace === null ? 'no workspace has' : `the workspace ${workspace} does not have`;
    const near = nearest(provider, known.keys());
    const fix =
      near === undefined
        ? `declare a Provider with spec.slug: ${provider}`
        : `did you mean "@${near}"?`;
    return {
      id: identityKey(identity),
      identity,
      position: positionOf(pointerOf(['config', ...path.map(String)])),
      reason: 'unknown-provider',
      message: `it names the provider "@${provider}", which ${owner}; ${fix}`,
    };
  }

  /** Adds the providers that a config of a workspace names to its references, so that they are neither deleted nor late. */
  withNamed(desired: DesiredResource): DesiredResource {
    const { kind, workspace } = desired.identity;
    if (kind !== 'Config' || workspace === null || desired.absent) return desired;
    const known = this.#reachable(workspace);
    const named = providerReferences(desired.spec.config).flatMap(
      ({ provider }) => known.get(provider) ?? [],
    );
    if (named.length === 0) return desired;
    const all = [...desired.references, ...named].map((one) => [identityKey(one), one] as const);
    return { ...desired, references: [...new Map(all).values()] };
  }

  /** A config of the organisation takes providers of the workspace whose key uses it. */
  #reachable(workspace: string | null): ReadonlyMap<string, Identity> {
    if (workspace !== null) return this.#byWorkspace.get(workspace) ?? new Map();
    this.#ofAll ??= new Map(this.#byWorkspace.values().flatMap((known) => known.entries()));
    return this.#ofAll;
  }

  #add(identity: Identity, names: readonly unknown[]): void {
    const known = this.#byWorkspace.get(identity.workspace) ?? new Map();
    for (const name of names) if (typeof name === 'string') known.set(name, identity);
    this.#byWorkspace.set(identity.workspace, known);
  }
}
