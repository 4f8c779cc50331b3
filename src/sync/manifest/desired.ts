/** Knows how manifests become one set: each identity once, every reference leading somewhere. */
import type { z } from 'zod';
import { loadBody } from '../../model/bodies.ts';
import type { KindName } from '../../model/kinds.ts';
import {
  byCodeUnits,
  byPlace,
  type SourceFault,
  type SourceFiles,
} from '../source/source-files.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type Identity,
  identityKey,
  type Position,
} from '../spec/resource-set.ts';
import { type Canonical, canonicalise } from './canonical.ts';
import type { contentFaults } from './content-faults.ts';
import {
  type Declaration,
  noCanonical,
  positionIn,
  referencesOf,
  withoutSpec,
} from './declaration.ts';
import { readManifests } from './document-manifests.ts';
import { readExternal } from './external.ts';
import { Identities } from './identities.ts';
import type { Manifest } from './manifest.ts';
import type { SecretSources } from './secrets.ts';
import { refuseSharedValues } from './shared-values.ts';
import { readDocuments } from './yaml-document.ts';

export type Desired =
  | { readonly set: DesiredSet; readonly faults?: undefined }
  | { readonly set?: undefined; readonly faults: readonly SourceFault[] };

/** What is known of a source once it has been checked, when it is not to be applied. */
export interface Checked {
  /** In the order of their places; none when the source can be applied. */
  readonly faults: readonly SourceFault[];
  /** Of each resource whose spec has no fault of its own. */
  readonly kinds: readonly KindName[];
}

/**
 * Reads and checks everything in a source as far as that goes without a server, the free-form parts
 * of specs as the server would. All faults are found in one pass and come in the order of their
 * places; resources come in the order of their identities, so that neither files nor documents nor
 * keys matter by their order.
 */
export async function readDesired(files: SourceFiles, sources: SecretSources): Promise<Desired> {
  const reader = new Reader(files, sources, true);
  const declarations = await reader.run();
  const resources = declarations.map((declaration) => reader.finish(declaration));
  if (reader.faults.length > 0) return { faults: reader.faults.toSorted(byPlace) };
  const externals = inOrder(reader.externals);
  return { set: { resources: inOrder(resources), externals, source: files.info } };
}

/** As {@link readDesired}, and forgets each spec once it is checked, which a large source needs. */
export async function checkSource(files: SourceFiles, sources: SecretSources): Promise<Checked> {
  const reader = new Reader(files, sources, false);
  const declarations = await reader.run();
  for (const declaration of declarations) reader.resolveAll(declaration);
  return {
    faults: reader.faults.toSorted(byPlace),
    kinds: declarations.map(({ identity }) => identity.kind),
  };
}

const freeForm: ReadonlySet<KindName> = new Set(['Config', 'Guardrail', 'McpIntegration']);

class Reader {
  readonly faults: SourceFault[];
  readonly externals: ExternalResource[] = [];
  readonly #files: SourceFiles;
  readonly #sources: SecretSources;
  readonly #keepsSpecs: boolean;
  readonly #schemas = new Map<KindName, z.ZodObject>();
  readonly #identities: Identities;
  readonly #declarations: Declaration[] = [];
  readonly #report = (fault: SourceFault): void => {
    this.faults.push(fault);
  };
  #contentFaults: typeof contentFaults | undefined;
  /** Something could not be identified: what seems missing may be there. */
  #incomplete: boolean;

  constructor(files: SourceFiles, sources: SecretSources, keepsSpecs: boolean) {
    this.#files = files;
    this.#sources = sources;
    this.#keepsSpecs = keepsSpecs;
    this.faults = [...files.faults];
    this.#incomplete = files.faults.length > 0;
    this.#identities = new Identities(this.#report);
  }

  /** Resources with faults of their own are left out; references are not followed yet. */
  async run(): Promise<readonly Declaration[]> {
    for (const file of this.#files.files) {
      const { documents, faults } = readDocuments(file);
      this.#take(faults, faults.length > 0);
      for (const document of documents) {
        const read = readManifests(document, this.#sources.environment);
        this.#take(read.faults, read.unidentified);
        for (const manifest of read.manifests) {
          const { kind } = manifest;
          // Awaited once a kind, not once a manifest.
          if (kind !== 'External' && !this.#schemas.has(kind)) await this.#prepare(kind);
          this.#takeManifest(manifest);
        }
      }
    }
    refuseSharedValues(this.#declarations, this.#report);
    return this.#declarations;
  }

  /** Loads what it takes to check manifests of a kind. */
  async #prepare(kind: KindName): Promise<void> {
    this.#schemas.set(kind, await loadBody(kind));
    if (!freeForm.has(kind)) return;
    this.#contentFaults ??= (await import('./content-faults.ts')).contentFaults;
  }

  #take(faults: readonly SourceFault[], unidentified: boolean): void {
    this.faults.push(...faults);
    this.#incomplete ||= unidentified;
  }

  #takeManifest(manifest: Manifest): void {
    const { kind, workspace, name } = manifest;
    if (kind === 'External') {
      const external = readExternal(manifest, this.#report);
      if (external === undefined) this.#incomplete = true;
      else if (this.#identities.claim(external.identity, manifest)) this.externals.push(external);
      return;
    }
    const identity = { kind, workspace, name };
    const isNew = this.#identities.claim(identity, manifest);
    const canonical = manifest.absent ? noCanonical : this.#canonicalise(kind, manifest);
    if (!isNew || canonical === undefined) return;
    const declaration = { identity, manifest, canonical };
    if (freeForm.has(kind) && !manifest.absent) {
      const positionOf = (pointer: string): Position => positionIn(manifest, pointer);
      const { spec, secrets } = canonical;
      const content = { identity, spec, secrets, positionOf };
      this.faults.push(...(this.#contentFaults?.(content) ?? []));
    }
    this.#declarations.push(this.#keepsSpecs ? declaration : withoutSpec(declaration));
  }

  #canonicalise(kind: KindName, manifest: Manifest): Canonical | undefined {
    const schema = this.#schemas.get(kind);
    if (schema === undefined) throw new Error(`the schema of ${kind} is not loaded`);
    return canonicalise(kind, schema, manifest, this.#sources, this.#report);
  }

  /** Follows every reference of a resource and tells which lead nowhere. */
  resolveAll(declaration: Declaration): Identity[] {
    const { identity, manifest } = declaration;
    const references = new Map<string, Identity>();
    for (const reference of referencesOf(declaration)) {
      const isComplete = !this.#incomplete;
      const referent = this.#identities.resolve(reference, identity, manifest, isComplete);
      if (referent === undefined) continue;
      reference.resolve(referent.key);
      references.set(referent.key, referent.identity);
    }
    return [...references.values()];
  }

  finish(declaration: Declaration): DesiredResource {
    const { identity, manifest, canonical } = declaration;
    const { spec, secrets, secretOutput } = canonical;
    return {
      identity,
      position: manifest.place.start,
      positionOf: (pointer) => positionIn(manifest, pointer),
      spec,
      secrets,
      references: this.resolveAll(declaration),
      absent: manifest.absent,
      protected: manifest.protected,
      previousNames: manifest.previousNames,
      onRemoval: manifest.onRemoval,
      secretOutput,
    };
  }
}

function inOrder<T extends { readonly identity: Identity }>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ key: identityKey(item.identity), item }))
    .sort((one, two) => byCodeUnits(one.key, two.key))
    .map(({ item }) => item);
}
