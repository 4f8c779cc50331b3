/** Knows how the server's state is written down as manifests that plan to nothing. */
import { dump } from 'js-yaml';
import { type KindName, kinds, type ReferenceField } from '../model/kinds.ts';
import { apiVersion } from './manifest/manifest.ts';
import {
  type Identity,
  identityKey,
  type Json,
  type LiveResource,
  type LiveSet,
  type Spec,
} from './spec/resource-set.ts';
import {
  isPlainObject,
  isReference,
  isSecret,
  matchesPattern,
  type PlainObject,
  referencesIn,
} from './spec/spec-paths.ts';
import { type Shape, shapeOf, toCamelCase, toSnakeCase } from './spec/spec-shape.ts';

export interface ExportOptions {
  readonly owner: string;
  /** Empty means all. */
  readonly kinds: readonly KindName[];
  /** Name of a workspace; null means all and the organisation's own resources. */
  readonly workspace: string | null;
  /** Instead of what this owner declared, what nobody did. */
  readonly unmanaged: boolean;
}

interface ExportedFile {
  /** Below the export folder: `support/api-keys.yaml`. */
  readonly path: string;
  readonly text: string;
  readonly resources: number;
}

export interface Export {
  readonly files: readonly ExportedFile[];
  /** What the manifests lack, because no server tells it; to be filled in by hand. */
  readonly stubs: readonly string[];
}

/**
 * One file for each kind in each workspace. References are written as names; what is referred to
 * but not exported becomes an External. Planning the result for the same owner yields no change,
 * save at the stubs.
 */
export function exportManifests(live: LiveSet, options: ExportOptions): Export {
  return new Exporter(live, options).run();
}

interface Document {
  readonly identity: Identity;
  readonly text: string;
}

class Exporter {
  readonly #options: ExportOptions;
  readonly #live: LiveSet;
  readonly #byKey: ReadonlyMap<string, LiveResource>;
  /** Identity in the manifests of every resource that they mention, by live identity key. */
  readonly #names = new Map<string, Identity>();
  readonly #used = new Set<string>();
  readonly #externals = new Map<string, LiveResource>();
  readonly #stubs: string[] = [];

  constructor(live: LiveSet, options: ExportOptions) {
    this.#live = live;
    this.#options = options;
    this.#byKey = new Map(
      live.resources.map((resource) => [identityKey(resource.identity), resource]),
    );
  }

  run(): Export {
    const chosen = this.#live.resources
      .filter((resource) => this.#isChosen(resource))
      .toSorted((one, two) => (identityKey(one.identity) < identityKey(two.identity) ? -1 : 1));
    const workspacesFirst = [
      ...chosen.filter(({ identity }) => identity.kind === 'Workspace'),
      ...chosen.filter(({ identity }) => identity.kind !== 'Workspace'),
    ];
    for (const resource of workspacesFirst) this.#name(resource);
    const chosenKeys = new Set(chosen.map(({ identity }) => identityKey(identity)));
    for (const resource of chosen) this.#findExternals(resource, chosenKeys);
    const documents = chosen.map((resource) => this.#document(resource));
    const externals = [...this.#externals.values()].map((resource) => this.#external(resource));
    return { files: filesOf(documents, externals), stubs: this.#stubs };
  }

  #isChosen({ owner, identity }: LiveResource): boolean {
    const { owner: ours, kinds: only, workspace, unmanaged } = this.#options;
    if (unmanaged ? owner !== null : owner !== ours) return false;
    if (only.length > 0 && !only.includes(identity.kind)) return false;
    if (workspace === null) return true;
    return identity.kind === 'Workspace'
      ? identity.name === workspace
      : identity.workspace === workspace;
  }

  /** The declared name, or one made of the title in the form that manifests allow; never twice. */
  #name(resource: LiveResource): Identity {
    const { identity, owner, title, id } = resource;
    const key = identityKey(identity);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const workspace = this.#workspaceName(identity.workspace);
    const isOurs = owner === this.#options.owner;
    const plain = manifestName(isOurs ? identity.name : title || identity.name, id);
    const free = (name: string): boolean =>
      !this.#used.has(identityKey({ ...identity, workspace, name }));
    const name = free(plain) ? plain : `${plain.slice(0, 200)}-${id}`;
    const named = { kind: identity.kind, workspace, name };
    this.#used.add(identityKey(named));
    this.#names.set(key, named);
    return named;
  }

  #workspaceName(workspace: string | null): string | null {
    if (workspace === null) return null;
    const key = identityKey({ kind: 'Workspace', workspace: null, name: workspace });
    const resource = this.#byKey.get(key);
    return resource === undefined ? manifestName(workspace, workspace) : this.#name(resource).name;
  }

  #findExternals({ identity, spec }: LiveResource, chosen: ReadonlySet<string>): void {
    const { workspace } = identity;
    const own =
      workspace === null
        ? []
        : [identityKey({ kind: 'Workspace', workspace: null, name: workspace })];
    for (const key of [...referencesIn(spec), ...own]) {
      const target = this.#byKey.get(key);
      if (target === undefined || chosen.has(key) || this.#externals.has(key)) continue;
      this.#name(target);
      this.#externals.set(key, target);
      this.#findExternals(target, chosen);
    }
  }

  #external(resource: LiveResource): Document {
    const identity = this.#name(resource);
    const { id, slug } = resource;
    const document = {
      apiVersion,
      kind: 'External',
      metadata: metadataOf(identity),
      spec: { kind: identity.kind, ...(slug === null ? { id } : { slug }) },
    };
    return { identity, text: yaml(document) };
  }

  #document(resource: LiveResource): Document {
    const identity = this.#name(resource);
    const { kind } = identity;
    const isOurs = resource.owner === this.#options.owner;
    const spec = isOurs ? sparse(resource.spec, resource.base ?? {}, kind) : resource.spec;
    const written = this.#fields(withoutImplied(spec, identity), shapeOf(kind), [], identity);
    const { source } = resource;
    const annotations = {
      ...(source?.on_removal === 'retain' ? { 'gatewright.dev/deletion': 'retain' } : {}),
      ...(JSON.stringify(written).includes('${')
        ? { 'gatewright.dev/substitute': 'disabled' }
        : {}),
    };
    const document = {
      apiVersion,
      kind,
      metadata: {
        ...metadataOf(identity),
        ...(source?.protected === true ? { protected: true } : {}),
        ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      },
      spec: written,
    };
    const output = `${identity.workspace ?? 'organisation'}/${identity.name}.key`;
    const comment =
      kind === 'ApiKey' ? `  # secretOutput: {file: {path: ${output}}}  # for a new value\n` : '';
    return { identity, text: yaml(document) + comment };
  }

  #fields(object: PlainObject, shape: Shape, path: string[], identity: Identity): PlainObject {
    const fields: PlainObject = {};
    for (const [key, value] of Object.entries(object)) {
      const place = [...path, key];
      const reference = isReference(value) ? this.#reference(value.$ref, place, identity) : null;
      if (reference === null) {
        fields[shape.opaque ? key : spelling(key)] = this.#value(
          value,
          shape.child(key),
          place,
          identity,
        );
      } else if (reference.field.manifestField !== '') {
        fields[reference.field.manifestField] = reference.text;
      }
    }
    return fields;
  }

  #value(value: Json, shape: Shape, path: string[], identity: Identity): Json {
    if (isSecret(value)) return this.#stub(value.$secret, path, identity);
    if (isReference(value)) {
      const { field, text } = this.#reference(value.$ref, path, identity);
      return { [field.manifestField]: text };
    }
    if (Array.isArray(value)) {
      return value.map((item, at) =>
        this.#value(item, shape.child(`${at}`), [...path, `${at}`], identity),
      );
    }
    return isPlainObject(value) ? this.#fields(value, shape, path, identity) : value;
  }

  /** `name`, or `workspace/name` where the name alone would mean another. */
  #reference(
    key: string,
    path: readonly string[],
    from: Identity,
  ): { field: ReferenceField; text: string } {
    const target = this.#byKey.get(key)!;
    const { kind, workspace, name } = this.#name(target);
    const field = kinds[from.kind].references.find(
      (candidate) => candidate.kind === kind && matchesPattern(candidate.path, path),
    )!;
    const isNear = workspace === null || workspace === from.workspace;
    return { field, text: isNear ? name : `${workspace}/${name}` };
  }

  /** No server tells a secret: where it came from is known at best. */
  #stub(origin: string, path: readonly string[], identity: Identity): Json {
    const [, source, name] = /^(env|file):(.+)$/.exec(origin) ?? [];
    const invented = [identity.name, path.at(-1)!].join('_').toUpperCase().replace(/\W+/g, '_');
    const field = source === 'file' ? 'file' : 'env';
    const variable = name ?? invented.replace(/^\d/, '_$&');
    this.#stubs.push(`${identityKey(identity)} ${path.join('.')}: ${field} ${variable}`);
    return { valueFrom: { [field]: variable } };
  }
}

/** The live values of what the manifest had said: nothing that the server has filled in. */
function sparse(live: Spec, base: Spec, kind: KindName): Spec {
  const { opaque } = kinds[kind];
  const pick = (value: Json, before: Json, path: readonly string[]): Json => {
    // The base knows where a secret came from.
    if (isSecret(value) && isSecret(before)) return before;
    const isWhole = opaque.some((pattern) => matchesPattern(pattern, path));
    if (isWhole)
      return isPlainObject(value) && isPlainObject(before) ? origins(value, before) : value;
    if (Array.isArray(value) && Array.isArray(before) && value.length === before.length) {
      return value.map((item, at) => pick(item, before[at]!, [...path, `${at}`]));
    }
    if (!isPlainObject(value) || !isPlainObject(before) || isReference(value)) return value;
    return Object.fromEntries(
      Object.keys(before)
        .filter((key) => value[key] !== undefined)
        .map((key) => [key, pick(value[key]!, before[key]!, [...path, key])]),
    );
  };
  return pick(live, base, []) as Spec;
}

function origins(value: PlainObject, before: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const base = before[key];
      return [key, isSecret(item) && isSecret(base) ? base : item];
    }),
  );
}

/** Leaves out what the envelope says already. */
function withoutImplied(spec: Spec, identity: Identity): Spec {
  const implied: Spec = {
    name: identity.name,
    ...(identity.kind === 'ApiKey'
      ? { type: identity.workspace === null ? 'organisation' : 'workspace', sub_type: 'service' }
      : {}),
  };
  return Object.fromEntries(
    Object.entries(spec).filter(([key, value]) => key !== 'workspace_id' && implied[key] !== value),
  );
}

function metadataOf({ workspace, name }: Identity): PlainObject {
  return workspace === null ? { name } : { name, workspace };
}

/** camelCase, as manifests are written, where the way back is sure. */
function spelling(key: string): string {
  const camel = toCamelCase(key);
  return toSnakeCase(camel) === key ? camel : key;
}

/** Any text in the form that manifest names have. */
function manifestName(text: string, id: string): string {
  const name = text
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 200);
  return name === '' ? `r-${id}` : name;
}

function filesOf(documents: readonly Document[], externals: readonly Document[]): ExportedFile[] {
  const groups = Map.groupBy(documents, ({ identity: { kind, workspace } }) => {
    const file = `${fileNames[kind]}.yaml`;
    return workspace === null ? file : `${workspace}/${file}`;
  });
  if (externals.length > 0) groups.set('externals.yaml', [...externals]);
  return [...groups].map(([path, group]) => ({
    path,
    text: group.map(({ text }) => text).join('---\n'),
    resources: group.length,
  }));
}

const fileNames: Readonly<Record<KindName, string>> = {
  Workspace: 'workspaces',
  Guardrail: 'guardrails',
  Config: 'configs',
  ApiKey: 'api-keys',
  McpIntegration: 'mcp-integrations',
  McpServer: 'mcp-servers',
  GuardrailMcpBinding: 'guardrail-mcp-bindings',
  UsageLimitPolicy: 'usage-limit-policies',
};

function yaml(document: object): string {
  return dump(document, { lineWidth: 100, noRefs: true });
}
