/** Gives each live resource a unique and valid name for exported manifests. */
import {
  type Identity,
  identityKey,
  type LiveResource,
  type LiveSet,
} from '../resources/resource-set.ts';

/** Names depend on the order of the calls. */
export class ExportNames {
  readonly #owner: string;
  readonly #byKey: ReadonlyMap<string, LiveResource>;
  /** By live identity key. */
  readonly #given = new Map<string, Identity>();
  readonly #used = new Set<string>();

  constructor(live: LiveSet, owner: string) {
    this.#owner = owner;
    this.#byKey = new Map(
      live.resources.map((resource) => [identityKey(resource.identity), resource]),
    );
  }

  /** Returns the live resource of an identity key. */
  find(key: string): LiveResource | undefined {
    return this.#byKey.get(key);
  }

  /** Returns the declared name, or one derived from the title. */
  nameOf(resource: LiveResource): Identity {
    const { identity, owner, title, id } = resource;
    const key = identityKey(identity);
    const known = this.#given.get(key);
    if (known !== undefined) return known;
    const workspace = this.#workspaceName(identity.workspace);
    const isOurs = owner === this.#owner;
    const plain = manifestName(isOurs ? identity.name : title || identity.name, id);
    const free = (name: string): boolean =>
      !this.#used.has(identityKey({ ...identity, workspace, name }));
    const name = free(plain) ? plain : `${plain.slice(0, 200)}-${id}`;
    const named = { kind: identity.kind, workspace, name };
    this.#used.add(identityKey(named));
    this.#given.set(key, named);
    return named;
  }

  #workspaceName(workspace: string | null): string | null {
    if (workspace === null) return null;
    const key = identityKey({ kind: 'Workspace', workspace: null, name: workspace });
    const resource = this.#byKey.get(key);
    return resource === undefined ? manifestName(workspace, workspace) : this.nameOf(resource).name;
  }
}

/** Converts a text to the form of manifest names. */
function manifestName(text: string, id: string): string {
  const name = text
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 200);
  return name === '' ? `r-${id}` : name;
}
