/** Knows how manifests become one set: each identity once, every reference leading somewhere. */
import type { z } from 'zod';
import { loadHotBody } from '../../model/bodies.ts';
import type { HotSchema } from '../../model/hot-schema.ts';
import { type KindName, kinds } from '../../model/kinds.ts';
import {
  byCodeUnits,
  byPlace,
  type SourceFault,
  type SourceFile,
  type SourceFiles,
} from '../source/source-files.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type HeldFault,
  type Identity,
  identityKey,
  type LeftAlone,
  type Position,
  type SourceInfo,
  workspaceOf,
} from '../spec/resource-set.ts';
import { segmentsOf } from '../spec/spec-paths.ts';
import { concerns, isInScope, type WorkspaceScope } from '../spec/workspace-scope.ts';
import { readDocuments } from '../yaml/yaml-document.ts';
import { type Canonical, canonicalise } from './canonical.ts';
import type { contentFaults } from './content-faults.ts';
import { type Declaration, declarationOf, noCanonical } from './declaration.ts';
import { notAManifest, readManifests, workspacesNamed } from './document-manifests.ts';
import { isForeignHeading } from './document-owner.ts';
import { sopsFault } from './encrypted-files.ts';
import { readExternal } from './external.ts';
import { FaultLog, reachOfFile } from './fault-log.ts';
import { FileCensus } from './file-census.ts';
import { Identities } from './identities.ts';
import type { Manifest } from './manifest.ts';
import { ReadValues, type SecretSources } from './secrets.ts';
import { refuseSharedValues } from './shared-values.ts';
import { writtenPath } from './spec-faults.ts';

export type Desired =
  | { readonly set: DesiredSet; readonly faults?: undefined }
  | { readonly set?: undefined; readonly faults: readonly SourceFault[] };

/** A source as far as it is right. */
export interface ReadSource {
  /** Every resource without a fault of its own; `faults` are those of the whole source. */
  readonly set: DesiredSet & { readonly faults: readonly HeldFault[] };
  /** References of it that may lead to what could not be read: no faults of their own. */
  readonly waiting: readonly HeldFault[];
}

/** What is known of a source once it has been checked, when it is not to be applied. */
export interface Checked {
  /** In the order of their places; none when the source can be applied. */
  readonly faults: readonly SourceFault[];
  /** Of each resource of the scope whose spec has no fault of its own. */
  readonly kinds: readonly KindName[];
  /** Of every such resource; null stands for the organisation's. */
  readonly workspaces: ReadonlySet<string | null>;
  readonly leftAlone: LeftAlone;
}

/**
 * Reads and checks everything in a source as far as that goes without a server, the free-form parts
 * of specs as the server would. All faults are found in one pass and come in the order of their
 * places; resources come in the order of their identities, so that neither files nor documents nor
 * keys matter by their order. Of a scope only the faults in it count.
 */
export async function readDesired(
  files: SourceFiles,
  sources: SecretSources,
  scope: WorkspaceScope = null,
): Promise<Desired> {
  const { set, waiting } = await readSource(files, sources);
  const within = (held: readonly HeldFault[]): SourceFault[] =>
    held.filter((fault) => concerns(fault, scope)).map(({ fault }) => fault);
  const own = within(set.faults);
  const faults = own.length > 0 || set.faults.length === 0 ? own : within(waiting);
  return faults.length > 0 ? { faults } : { set };
}

/** As {@link readDesired}, of a source of which the rest is applied where something is wrong. */
export async function readSource(files: SourceFiles, sources: SecretSources): Promise<ReadSource> {
  const resources: DesiredResource[] = [];
  const reader = new Reader(files, sources);
  const declarations = await reader.run((declaration, manifest, canonical) => {
    const { spec, secrets, rotation, ignoreFields } = canonical;
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
      ignoreFields,
      secretOutput,
      rotation,
    });
  });
  const resolved = resources.map((resource, at) => ({
    ...resource,
    references: reader.resolve(declarations[at]!),
  }));
  const externals = inOrder(reader.externals);
  const { leftAlone, source, faults, waiting } = reader;
  return { set: { resources: inOrder(resolved), externals, source, leftAlone, faults }, waiting };
}

/** As {@link readDesired}, and forgets each spec once it is checked, which a large source needs. */
export async function checkSource(
  files: SourceFiles,
  sources: SecretSources,
  scope: WorkspaceScope = null,
): Promise<Checked> {
  const reader = new Reader(files, sources);
  const declarations = await reader.run();
  for (const declaration of declarations) reader.resolve(declaration);
  return {
    faults: reader.faults.filter((held) => concerns(held, scope)).map(({ fault }) => fault),
    kinds: declarations
      .filter(({ identity }) => isInScope(identity, scope))
      .map(({ identity }) => identity.kind),
    workspaces: new Set(declarations.map(({ identity }) => workspaceOf(identity))),
    leftAlone: reader.leftAlone,
  };
}

const freeForm: ReadonlySet<KindName> = new Set(['Config', 'Guardrail', 'McpIntegration']);

type OnSpec = (declaration: Declaration, manifest: Manifest, canonical: Canonical) => void;

class Reader {
  readonly externals: ExternalResource[] = [];
  readonly #files: SourceFiles;
  readonly #values: ReadValues;
  readonly #schemas = new Map<KindName, HotSchema<z.ZodObject>>();
  readonly #identities: Identities;
  readonly #declarations: Declaration[] = [];
  readonly #log = new FaultLog();
  readonly #waiting = new FaultLog();
  #contentFaults: typeof contentFaults | undefined;
  readonly #census = new FileCensus();
  /** Something could not be identified: what seems missing may be there. */
  #incomplete: boolean;

  constructor(files: SourceFiles, sources: SecretSources) {
    this.#files = files;
    this.#values = new ReadValues(sources, files.files);
    for (const fault of files.faults) {
      this.#log.reportOf(fault, reachOfFile(fault.position.file, []));
    }
    this.#incomplete = files.faults.length > 0;
    this.#identities = new Identities(this.#log.report, this.#waiting.report);
  }

  /**
   * Resources with faults of their own are left out; references are not followed yet.
   *
   * @param onSpec is handed each resource with its spec, which is not kept otherwise
   */
  async run(onSpec?: OnSpec): Promise<readonly Declaration[]> {
    for (const file of this.#files.files) {
      await this.#readFile(file, onSpec);
    }
    refuseSharedValues(this.#declarations, (fault, claimants) => {
      this.#log.about(claimants.flatMap(workspacesIn), false);
      this.#log.report(fault);
    });
    return this.#declarations;
  }

  async #readFile(file: SourceFile, onSpec: OnSpec | undefined): Promise<void> {
    const { documents: written, faults } = readDocuments(file, isForeignHeading);
    const { documents, fault } = await this.#values.encryptedFiles.unseal(file, written);
    this.#incomplete ||= faults.length > 0;
    const foreign: Position[] = [];
    /** Faults that say nothing of where they belong: to what else stands in the file. */
    const unplaced = [...faults];
    const inFile: (string | null)[] = [];
    let isHeld = faults.length > 0;
    for (const document of documents) {
      const read = readManifests(document, this.#values.environment);
      this.#incomplete ||= read.unidentified;
      foreign.push(...read.foreign);
      isHeld ||= read.isStore || read.faults.length > 0 || read.manifests.length > 0;
      const named = read.manifests.flatMap(manifestWorkspaces);
      if (read.unidentified) named.push(...workspacesNamed(document));
      inFile.push(...named);
      this.#log.about(named, read.misread || read.unidentified);
      if (named.length === 0) unplaced.push(...read.faults);
      else read.faults.forEach(this.#log.report);
      for (const manifest of read.manifests) {
        const { kind } = manifest;
        // Awaited once a kind, not once a manifest.
        if (kind !== 'External' && !this.#schemas.has(kind)) await this.#prepare(kind);
        if (holdsSecrets(manifest)) await this.#values.ask(manifest);
        this.#takeManifest(manifest, onSpec);
      }
    }
    if (fault !== undefined) {
      const reach = { workspaces: inFile, mayHide: fault.isUnopened !== true, unread: null };
      this.#log.reportOf(sopsFault(fault, documents), reach);
    }
    const isNotOurs = this.#census.take(file, foreign, isHeld);
    this.#incomplete ||= isNotOurs;
    if (isNotOurs) unplaced.push(notAManifest(foreign[0]!));
    for (const fault of unplaced) this.#log.reportOf(fault, reachOfFile(file.path, inFile));
  }

  /** In the order of their places. */
  get faults(): HeldFault[] {
    return this.#log.held.toSorted((one, two) => byPlace(one.fault, two.fault));
  }

  get waiting(): readonly HeldFault[] {
    return this.#waiting.held;
  }

  get leftAlone(): LeftAlone {
    return this.#census.leftAlone(this.#files.ignored);
  }

  get source(): SourceInfo {
    return this.#census.source(this.#files.info);
  }

  /** Loads what it takes to check manifests of a kind. */
  async #prepare(kind: KindName): Promise<void> {
    this.#schemas.set(kind, await loadHotBody(kind));
    if (!freeForm.has(kind)) return;
    this.#contentFaults ??= (await import('./content-faults.ts')).contentFaults;
  }

  #takeManifest(manifest: Manifest, onSpec: OnSpec | undefined): void {
    const { kind, workspace, name } = manifest;
    // Of two with one name either may have been meant to have another.
    const within = manifestWorkspaces(manifest);
    this.#log.about(within, true);
    if (kind === 'External') {
      const external = readExternal(manifest, this.#log.report);
      if (external === undefined) this.#incomplete = true;
      else if (this.#identities.claim(external.identity, manifest)) this.externals.push(external);
      return;
    }
    const identity = { kind, workspace, name };
    const isNew = this.#identities.claim(identity, manifest);
    this.#log.about(within, false);
    const canonical = manifest.absent ? noCanonical : this.#canonicalise(kind, manifest);
    if (!isNew || canonical === undefined) return;
    if (this.#contentFaults !== undefined && freeForm.has(kind) && !manifest.absent) {
      const positionOf = (pointer: string): Position => positionIn(manifest, pointer);
      const { spec, secrets } = canonical;
      const faults = this.#contentFaults({ identity, spec, secrets, positionOf });
      faults.forEach(this.#log.report);
    }
    const declaration = declarationOf(identity, manifest, canonical);
    this.#declarations.push(declaration);
    onSpec?.(declaration, manifest, canonical);
  }

  #canonicalise(kind: KindName, manifest: Manifest): Canonical | undefined {
    const schema = this.#schemas.get(kind);
    if (schema === undefined) throw new Error(`the schema of ${kind} is not loaded`);
    return canonicalise(kind, schema, manifest, this.#values, this.#log.report);
  }

  /** What the references of a resource lead to; the faults of those that lead nowhere are added. */
  resolve(declaration: Declaration): Identity[] {
    const within = workspacesIn(declaration);
    const { workspace } = declaration.identity;
    // A workspace that is not there may be a slip: the resource is meant for another then.
    const isLost = workspace !== null && !this.#identities.hasWorkspace(workspace);
    this.#log.about(within, isLost);
    this.#waiting.about(within, false);
    return this.#identities.resolve(declaration, !this.#incomplete);
  }
}

function holdsSecrets({ kind, absent }: Manifest): boolean {
  return kind !== 'External' && !absent && kinds[kind].secrets.length > 0;
}

/** A workspace counts by its former names, too: what is in it may still be there under one of them. */
function workspacesIn({
  identity,
  previousNames,
}: Pick<Declaration, 'identity' | 'previousNames'>): (string | null)[] {
  const former = identity.kind === 'Workspace' ? previousNames : [];
  return [workspaceOf(identity), ...former];
}

function manifestWorkspaces({ kind, workspace, name, previousNames }: Manifest): (string | null)[] {
  if (kind === 'External') return [workspace];
  return workspacesIn({ identity: { kind, workspace, name }, previousNames });
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
