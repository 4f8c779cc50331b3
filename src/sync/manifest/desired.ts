/** Knows how manifests become one set: each identity once, every reference leading somewhere. */
import type { z } from 'zod';
import { loadHotBody } from '../../model/bodies.ts';
import type { HotSchema } from '../../model/hot-schema.ts';
import type { KindName } from '../../model/kinds.ts';
import {
  byCodeUnits,
  byPlace,
  infoOf,
  type SourceFault,
  type SourceFile,
  type SourceFiles,
} from '../source/source-files.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type Identity,
  identityKey,
  type LeftAlone,
  type Position,
  type SourceInfo,
} from '../spec/resource-set.ts';
import { segmentsOf } from '../spec/spec-paths.ts';
import { type Canonical, canonicalise } from './canonical.ts';
import type { contentFaults } from './content-faults.ts';
import { type Declaration, declarationOf, noCanonical } from './declaration.ts';
import { notAManifest, readManifests } from './document-manifests.ts';
import { isForeignHeading } from './document-owner.ts';
import { readExternal } from './external.ts';
import { Identities } from './identities.ts';
import type { Manifest } from './manifest.ts';
import type { SecretSources } from './secrets.ts';
import { refuseSharedValues } from './shared-values.ts';
import { writtenPath } from './spec-faults.ts';
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
  readonly leftAlone: LeftAlone;
}

/**
 * Reads and checks everything in a source as far as that goes without a server, the free-form parts
 * of specs as the server would. All faults are found in one pass and come in the order of their
 * places; resources come in the order of their identities, so that neither files nor documents nor
 * keys matter by their order.
 */
export async function readDesired(files: SourceFiles, sources: SecretSources): Promise<Desired> {
  const resources: DesiredResource[] = [];
  const reader = new Reader(files, sources);
  const declarations = await reader.run((declaration, manifest, { spec, secrets }) => {
    const { identity, place, absent, previousNames, secretOutput } = declaration;
    resources.push({
      identity,
      position: place.start,
      positionOf: (pointer) => positionIn(manifest, pointer),
      spec,
      secrets,
      references: [],
      absent,
      protected: manifest.protected,
      previousNames,
      renamedBefore: [],
      onRemoval: manifest.onRemoval,
      secretOutput,
    });
  });
  const resolved = resources.map((resource, at) => ({
    ...resource,
    references: reader.resolve(declarations[at]!),
  }));
  if (reader.faults.length > 0) return { faults: reader.faults.toSorted(byPlace) };
  const externals = inOrder(reader.externals);
  const { leftAlone } = reader;
  return { set: { resources: inOrder(resolved), externals, source: reader.source, leftAlone } };
}

/** As {@link readDesired}, and forgets each spec once it is checked, which a large source needs. */
export async function checkSource(files: SourceFiles, sources: SecretSources): Promise<Checked> {
  const reader = new Reader(files, sources);
  const declarations = await reader.run();
  for (const declaration of declarations) reader.resolve(declaration);
  return {
    faults: reader.faults.toSorted(byPlace),
    kinds: declarations.map(({ identity }) => identity.kind),
    leftAlone: reader.leftAlone,
  };
}

const freeForm: ReadonlySet<KindName> = new Set(['Config', 'Guardrail', 'McpIntegration']);

type OnSpec = (declaration: Declaration, manifest: Manifest, canonical: Canonical) => void;

class Reader {
  readonly faults: SourceFault[];
  readonly externals: ExternalResource[] = [];
  readonly #files: SourceFiles;
  readonly #sources: SecretSources;
  readonly #schemas = new Map<KindName, HotSchema<z.ZodObject>>();
  readonly #identities: Identities;
  readonly #declarations: Declaration[] = [];
  readonly #report = (fault: SourceFault): void => {
    this.faults.push(fault);
  };
  #contentFaults: typeof contentFaults | undefined;
  readonly #held: SourceFile[] = [];
  readonly #foreignFiles: string[] = [];
  readonly #foreignDocuments: string[] = [];
  /** Something could not be identified: what seems missing may be there. */
  #incomplete: boolean;

  constructor(files: SourceFiles, sources: SecretSources) {
    this.#files = files;
    this.#sources = sources;
    this.faults = [...files.faults];
    this.#incomplete = files.faults.length > 0;
    this.#identities = new Identities(this.#report);
  }

  /**
   * Resources with faults of their own are left out; references are not followed yet.
   *
   * @param onSpec is handed each resource with its spec, which is not kept otherwise
   */
  async run(onSpec?: OnSpec): Promise<readonly Declaration[]> {
    for (const file of this.#files.files) {
      const { documents, faults } = readDocuments(file, isForeignHeading);
      this.#take(faults, faults.length > 0);
      const foreign: Position[] = [];
      let isHeld = faults.length > 0;
      for (const document of documents) {
        const read = readManifests(document, this.#sources.environment);
        this.#take(read.faults, read.unidentified);
        foreign.push(...read.foreign);
        isHeld ||= read.faults.length > 0 || read.manifests.length > 0;
        for (const manifest of read.manifests) {
          const { kind } = manifest;
          // Awaited once a kind, not once a manifest.
          if (kind !== 'External' && !this.#schemas.has(kind)) await this.#prepare(kind);
          this.#takeManifest(manifest, onSpec);
        }
      }
      this.#leaveAlone(file, foreign, isHeld);
    }
    refuseSharedValues(this.#declarations, this.#report);
    return this.#declarations;
  }

  /** @param isHeld whether the file has manifests, as far as can be seen */
  #leaveAlone(file: SourceFile, foreign: readonly Position[], isHeld: boolean): void {
    if (isHeld) {
      this.#held.push(file);
      this.#foreignDocuments.push(...foreign.map(({ file, line }) => `${file}:${line}`));
    } else if (file.isNamed && foreign[0] !== undefined) {
      this.#take([notAManifest(foreign[0])], true);
    } else if (foreign.length > 0) {
      this.#foreignFiles.push(file.path);
    }
  }

  get leftAlone(): LeftAlone {
    return {
      ignored: this.#files.ignored,
      foreignFiles: this.#foreignFiles,
      foreignDocuments: this.#foreignDocuments,
    };
  }

  /** What is not ours makes no other version of the source: a plan may be written beside it. */
  get source(): SourceInfo {
    const { repo, revision } = this.#files.info;
    return infoOf(repo, revision, this.#held);
  }

  /** Loads what it takes to check manifests of a kind. */
  async #prepare(kind: KindName): Promise<void> {
    this.#schemas.set(kind, await loadHotBody(kind));
    if (!freeForm.has(kind)) return;
    this.#contentFaults ??= (await import('./content-faults.ts')).contentFaults;
  }

  #take(faults: readonly SourceFault[], unidentified: boolean): void {
    this.faults.push(...faults);
    this.#incomplete ||= unidentified;
  }

  #takeManifest(manifest: Manifest, onSpec: OnSpec | undefined): void {
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
    if (this.#contentFaults !== undefined && freeForm.has(kind) && !manifest.absent) {
      const positionOf = (pointer: string): Position => positionIn(manifest, pointer);
      const { spec, secrets } = canonical;
      this.faults.push(...this.#contentFaults({ identity, spec, secrets, positionOf }));
    }
    const declaration = declarationOf(identity, manifest, canonical);
    this.#declarations.push(declaration);
    onSpec?.(declaration, manifest, canonical);
  }

  #canonicalise(kind: KindName, manifest: Manifest): Canonical | undefined {
    const schema = this.#schemas.get(kind);
    if (schema === undefined) throw new Error(`the schema of ${kind} is not loaded`);
    return canonicalise(kind, schema, manifest, this.#sources, this.#report);
  }

  /** What the references of a resource lead to; the faults of those that lead nowhere are added. */
  resolve(declaration: Declaration): Identity[] {
    return this.#identities.resolve(declaration, !this.#incomplete);
  }
}

/** Where a place of the canonical spec, as JSON pointer, stands in the source. */
function positionIn({ place, spec }: Manifest, pointer: string): Position {
  return place.at(writtenPath(spec, segmentsOf(pointer)));
}

function inOrder<T extends { readonly identity: Identity }>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ key: identityKey(item.identity), item }))
    .sort((one, two) => byCodeUnits(one.key, two.key))
    .map(({ item }) => item);
}
