/** Exports the live state as manifests whose plan is empty. */
import { dump } from 'js-yaml';
import { providerReferences } from '../../model/configs/provider-references.ts';
import { hasCredential, type KindName } from '../../model/kinds/kinds.ts';
import {
  unknownDocumentFields,
  withExtensions,
} from '../../model/kinds/unknown-document-fields.ts';
import { apiVersion } from '../manifest/document-owner.ts';
import {
  type Identity,
  identityKey,
  type LiveResource,
  type LiveSet,
  type Spec,
} from '../resources/resource-set.ts';
import { isReference, mapSpec, type PlainObject, referencesIn } from '../resources/spec-paths.ts';
import { isInScope, type WorkspaceScope } from '../resources/workspace-scope.ts';
import { type ExportedDocument, type ExportedFile, filesOf, isTooLarge } from './export-files.ts';
import { ExportNames } from './export-names.ts';
import { SpecWriter } from './export-spec.ts';

export interface ManifestExportOptions {
  readonly owner: string;
  /** Empty means all. */
  readonly kinds: readonly KindName[];
  readonly scope: WorkspaceScope;
  /** Exports unmanaged resources instead of those of this owner. */
  readonly unmanaged: boolean;
}

export interface Export {
  readonly files: readonly ExportedFile[];
  /** Values that the manifests lack because no server returns them; to be filled in by hand. */
  readonly stubs: readonly string[];
  /** Unknown fields of stored documents, which the manifests have under `extensions`. */
  readonly moved: readonly string[];
  /** Documents that exceed the size limit of a source and are left out. */
  readonly tooLarge: readonly string[];
}

/**
 * Writes one file for each kind in each workspace. References become names; referenced resources
 * outside the export become Externals. Planning the result for the same owner yields no change
 * except for stubs and for unknown fields.
 */
export function exportManifests(live: LiveSet, options: ManifestExportOptions): Export {
  return new Exporter(live, options).run();
}

class Exporter {
  readonly #options: ManifestExportOptions;
  readonly #live: LiveSet;
  readonly #names: ExportNames;
  readonly #externals = new Map<string, LiveResource>();
  readonly #stubs: string[] = [];
  readonly #moved: string[] = [];

  constructor(live: LiveSet, options: ManifestExportOptions) {
    this.#live = live;
    this.#options = options;
    this.#names = new ExportNames(live, options.owner);
  }

  run(): Export {
    const chosen = this.#live.resources
      .filter((resource) => this.#isChosen(resource))
      .toSorted((one, two) => (identityKey(one.identity) < identityKey(two.identity) ? -1 : 1));
    const workspacesFirst = [
      ...chosen.filter(({ identity }) => identity.kind === 'Workspace'),
      ...chosen.filter(({ identity }) => identity.kind !== 'Workspace'),
    ];
    for (const resource of workspacesFirst) this.#names.nameOf(resource);
    const chosenKeys = new Set(chosen.map(({ identity }) => identityKey(identity)));
    for (const resource of chosen) this.#findExternals(resource, chosenKeys);
    const documents = chosen.map((resource) => this.#document(resource));
    const externals = [...this.#externals.values()].map((resource) => this.#external(resource));
    const [large, fitting] = [documents.filter(isLarge), documents.filter((one) => !isLarge(one))];
    return {
      files: filesOf(fitting, externals),
      stubs: this.#stubs,
      moved: this.#moved,
      tooLarge: large.map(({ identity }) => identityKey(identity)),
    };
  }

  #isChosen({ owner, identity, isOfDeployment }: LiveResource): boolean {
    const { owner: ours, kinds: only, scope, unmanaged } = this.#options;
    if (unmanaged ? owner !== null || isOfDeployment : owner !== ours) return false;
    if (only.length > 0 && !only.includes(identity.kind)) return false;
    return isInScope(identity, scope);
  }

  #findExternals({ identity, spec }: LiveResource, chosen: ReadonlySet<string>): void {
    const { workspace } = identity;
    const own =
      workspace === null
        ? []
        : [identityKey({ kind: 'Workspace', workspace: null, name: workspace })];
    for (const key of [...referencesIn(spec), ...this.#namedProviders(identity, spec), ...own]) {
      const target = this.#names.find(key);
      if (target === undefined || chosen.has(key) || this.#externals.has(key)) continue;
      this.#names.nameOf(target);
      this.#externals.set(key, target);
      this.#findExternals(target, chosen);
    }
  }

  /** Providers that a config names other than by `provider`, which would be unknown in the exported source. */
  #namedProviders({ kind, workspace }: Identity, { config }: Spec): string[] {
    if (kind !== 'Config' || workspace === null) return [];
    const slugs = new Set(providerReferences(config).map(({ provider }) => provider));
    return this.#live.resources
      .filter(({ identity, slug }) => identity.kind === 'Provider' && slugs.has(slug ?? ''))
      .filter(({ identity }) => identity.workspace === workspace)
      .map(({ identity }) => identityKey(identity));
  }

  #external(resource: LiveResource): ExportedDocument {
    const identity = this.#names.nameOf(resource);
    const { id, slug } = resource;
    const document = {
      apiVersion,
      kind: 'External',
      metadata: metadataOf(identity),
      spec: { kind: identity.kind, ...(slug === null ? { id } : { slug }) },
    };
    return { identity, text: yaml(document) };
  }

  #document(resource: LiveResource): ExportedDocument {
    const identity = this.#names.nameOf(resource);
    const { kind } = identity;
    const isOurs = resource.owner === this.#options.owner;
    const plain = mapSpec(resource.spec, (value) => (isReference(value) ? 'slug' : undefined));
    const unknown = unknownDocumentFields(kind, plain).map(({ path }) => path);
    const spec = withExtensions(resource.spec, unknown);
    for (const path of unknown) this.#moved.push(`${identityKey(identity)} ${path.join('.')}`);
    const writer = new SpecWriter(this.#names, identity, this.#stubs);
    const written = writer.write({ ...resource, spec }, isOurs);
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
    const comment = hasCredential(kind)
      ? `  # secretOutput: {file: {path: ${output}}}  # for a new value\n`
      : '';
    return { identity, text: yaml(document) + comment };
  }
}

function metadataOf({ workspace, name }: Identity): PlainObject {
  return workspace === null ? { name } : { name, workspace };
}

function isLarge({ text }: ExportedDocument): boolean {
  return isTooLarge(text);
}

/** JSON, which is also YAML, when indentation would make a document too large. */
function yaml(document: object): string {
  const text = dump(document, { lineWidth: 100, noRefs: true });
  return isTooLarge(text) ? `${JSON.stringify(document)}\n` : text;
}
