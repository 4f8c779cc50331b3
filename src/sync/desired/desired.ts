/** Combines all manifests into one desired set with unique identities and resolved references. */
import type { KindName } from '../../model/kinds/kinds.ts';
import {
  notAManifest,
  type ReadingContext,
  readManifests,
  workspacesNamed,
} from '../manifest/document-manifests.ts';
import { isForeignHeading } from '../manifest/document-owner.ts';
import { sopsFault } from '../manifest/encrypted-files.ts';
import { mayHideLayers, readLayers } from '../manifest/layer-documents.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { isValuesFile } from '../overlay/environment-values.ts';
import type { VariableLookup } from '../overlay/substitute.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type HeldFault,
  type Identity,
  identityKey,
  type LeftAlone,
  owningWorkspace,
  type Position,
  type SourceInfo,
  type SourceNote,
} from '../resources/resource-set.ts';
import { concerns, isInScope, type WorkspaceScope } from '../resources/workspace-scope.ts';
import {
  byCodeUnits,
  byPlace,
  type SourceFault,
  type SourceFiles,
} from '../source/source-files.ts';
import type { Canonical } from '../validation/canonical.ts';
import { type Declaration, declarationOf } from '../validation/declaration.ts';
import type { SecretSources } from '../validation/secrets.ts';
import { positionsOf, SpecJudge } from '../validation/spec-judge.ts';
import { readDocuments } from '../yaml/yaml-document.ts';
import { DeclaredNames } from './declared-names.ts';
import { readExternal } from './external.ts';
import { FaultLog, reachOfFile, reachOfLayers } from './fault-log.ts';
import { FileCensus } from './file-census.ts';
import { Identities } from './identities.ts';
import { refuseSharedValues } from './shared-values.ts';

export type DesiredResult =
  | { readonly set: DesiredSet; readonly faults?: undefined }
  | { readonly set?: undefined; readonly faults: readonly SourceFault[] };

/** A source with its valid part. */
export interface ReadSource {
  /** Every resource without a fault of its own; `faults` are those of the whole source. */
  readonly set: DesiredSet & { readonly faults: readonly HeldFault[] };
  /** References that may lead to something unreadable; not faults by themselves. */
  readonly waiting: readonly HeldFault[];
}

/** The result of checking a source that is not applied. */
export interface CheckedSource {
  /** By position; empty when the source can be applied. */
  readonly faults: readonly SourceFault[];
  /** The kind of each resource in the scope whose spec has no fault. */
  readonly kinds: readonly KindName[];
  /** Whether the source declares nothing at all, in any scope. */
  readonly isEmpty: boolean;
  /** Workspaces of these resources; null stands for the organisation. */
  readonly workspaces: ReadonlySet<string | null>;
  readonly leftAlone: LeftAlone;
  readonly warnings: readonly SourceNote[];
}

/**
 * Reads and checks a source as far as possible without a server, including the free-form parts of
 * specs. One pass finds all faults and returns them by position. Resources are ordered by identity,
 * so the order of files, documents and keys does not matter. With a scope only its faults count.
 */
export async function readDesired(
  files: SourceFiles,
  sources: SecretSources,
  scope: WorkspaceScope = null,
): Promise<DesiredResult> {
  const { set, waiting } = await readSource(files, sources);
  const within = (held: readonly HeldFault[]): SourceFault[] =>
    held.filter((fault) => concerns(fault, scope)).map(({ fault }) => fault);
  const own = within(set.faults);
  const faults = own.length > 0 || set.faults.length === 0 ? own : within(waiting);
  return faults.length > 0 ? { faults } : { set };
}

/** Like {@link readDesired}, for a source whose valid part is applied despite faults. */
export async function readSource(files: SourceFiles, sources: SecretSources): Promise<ReadSource> {
  const resources: DesiredResource[] = [];
  const references: Identity[][] = [];
  const reader = new Reader(files, sources);
  const declarations = await reader.run((declaration, manifest, canonical) => {
    const { spec, secrets, rotation, ignoreFields } = canonical;
    const { identity, place, absent, previousNames, secretOutput } = declaration;
    const leadsTo: Identity[] = [];
    references.push(leadsTo);
    resources.push({
      identity,
      position: place.start,
      positionOf: positionsOf(manifest),
      isComposed: place.isComposed,
      spec,
      secrets,
      references: leadsTo,
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
  for (const [at, declaration] of declarations.entries()) {
    references[at]!.push(...reader.resolve(declaration));
  }
  const externals = inOrder(reader.externals);
  const { leftAlone, source, faults, waiting } = reader;
  const warnings = reader.warnings.toSorted(byPlace);
  const found = { externals, source, leftAlone, faults, warnings };
  return { set: { resources: inOrder(resources), ...found }, waiting };
}

/**
 * Like {@link readDesired}, but drops each spec after checking it, to limit the memory for large
 * sources.
 */
export async function checkSource(
  files: SourceFiles,
  sources: SecretSources,
  scope: WorkspaceScope = null,
): Promise<CheckedSource> {
  const reader = new Reader(files, sources);
  const declarations = await reader.run();
  for (const declaration of declarations) reader.resolve(declaration);
  return {
    faults: reader.faults.filter((held) => concerns(held, scope)).map(({ fault }) => fault),
    kinds: declarations
      .filter(({ identity }) => isInScope(identity, scope))
      .map(({ identity }) => identity.kind),
    isEmpty: declarations.length + reader.externals.length === 0,
    workspaces: new Set(declarations.map(({ identity }) => owningWorkspace(identity))),
    leftAlone: reader.leftAlone,
    warnings: reader.warnings.toSorted(byPlace),
  };
}

type OnSpec = (declaration: Declaration, manifest: Manifest, canonical: Canonical) => void;

class Reader {
  readonly externals: ExternalResource[] = [];
  readonly warnings: SourceNote[] = [];
  readonly #files: SourceFiles;
  readonly #environment: VariableLookup;
  readonly #judge: SpecJudge;
  readonly #identities: Identities;
  readonly #declarations: Declaration[] = [];
  readonly #log = new FaultLog();
  readonly #waiting = new FaultLog();
  readonly #reports = { report: this.#log.report, reportUnread: this.#waiting.report };
  readonly #census = new FileCensus();
  #names: DeclaredNames | undefined;
  /** Something could not be identified, so what seems missing may exist. */
  #incomplete: boolean;

  constructor(files: SourceFiles, sources: SecretSources) {
    this.#files = files;
    this.#environment = sources.environment;
    this.#judge = new SpecJudge(sources, files.files);
    for (const fault of files.faults) {
      const { file } = fault.position;
      this.#log.reportOf(fault, reachOfFile(file, [], mayHideLayers(file, files)));
    }
    this.#incomplete = files.faults.length > 0;
    this.#identities = new Identities(this.#reports);
  }

  /**
   * Leaves out resources with faults of their own; references are not resolved yet.
   *
   * @param onSpec receives each resource with its spec, which is not stored otherwise
   */
  async run(onSpec?: OnSpec): Promise<readonly Declaration[]> {
    const { files } = this.#files;
    const { faults, areValuesKnown, ...context } = await readLayers(
      files,
      { environment: this.#environment },
      this.#judge.encryptedFiles,
    );
    for (const fault of faults) this.#log.reportOf(fault, reachOfLayers);
    for (const file of areValuesKnown ? files : []) {
      if (isValuesFile(file)) this.#census.take(file, [], true);
      else await this.#readFile({ ...context, file }, onSpec);
    }
    // The target of a patch may be in an unreadable file.
    if (!this.#incomplete) {
      this.warnings.push(...context.layers.unreached());
      for (const fault of context.layers.unmatched()) this.#log.reportOf(fault, reachOfLayers);
    }
    refuseSharedValues(this.#declarations, (fault, claimants) => {
      this.#log.about(claimants.flatMap(workspacesIn), false);
      this.#log.report(fault);
    });
    return this.#declarations;
  }

  async #readFile(context: ReadingContext, onSpec: OnSpec | undefined): Promise<void> {
    const { file } = context;
    const { documents: written, faults } = readDocuments(file, isForeignHeading);
    const { documents, fault } = await this.#judge.encryptedFiles.unseal(file, written);
    this.#incomplete ||= faults.length > 0;
    const foreign: Position[] = [];
    /** Faults without a workspace of their own affect everything else in the file. */
    const unplaced = [...faults];
    const inFile: (string | null)[] = [];
    let isHeld = faults.length > 0;
    for (const document of documents) {
      const read = readManifests(document, context);
      this.#incomplete ||= read.unidentified;
      foreign.push(...read.foreign);
      isHeld ||= read.isStore || read.isLayer;
      isHeld ||= read.faults.length > 0 || read.manifests.length > 0;
      const named = read.manifests.flatMap(manifestWorkspaces);
      if (read.unidentified) named.push(...workspacesNamed(document));
      inFile.push(...named);
      this.#log.about(named, read.misread || read.unidentified);
      if (named.length === 0) unplaced.push(...read.faults);
      else read.faults.forEach(this.#log.report);
      for (const manifest of read.manifests) {
        if (this.#judge.needs(manifest)) await this.#judge.prepare(manifest);
        this.#takeManifest(manifest, onSpec);
      }
    }
    const holdsAll = mayHideLayers(file.path, this.#files);
    if (fault !== undefined) {
      const mayHide = fault.isUnopened !== true;
      const reach = { workspaces: inFile, mayHide, unread: null, holdsAll };
      this.#log.reportOf(sopsFault(fault, documents), reach);
    }
    const isNotOurs = this.#census.take(file, foreign, isHeld);
    this.#incomplete ||= isNotOurs;
    if (isNotOurs) unplaced.push(notAManifest(foreign[0]!));
    const reach = reachOfFile(file.path, inFile, holdsAll);
    for (const fault of unplaced) this.#log.reportOf(fault, reach);
  }

  /** Ordered by position. */
  get faults(): HeldFault[] {
    return this.#log.held.toSorted((one, two) => byPlace(one.fault, two.fault));
  }

  get waiting(): readonly HeldFault[] {
    return this.#waiting.held;
  }

  get leftAlone(): LeftAlone {
    return this.#census.leftAlone(this.#files);
  }

  get source(): SourceInfo {
    return this.#census.source(this.#files.info);
  }

  #takeManifest(manifest: Manifest, onSpec: OnSpec | undefined): void {
    const { kind, workspace, name } = manifest;
    // Either of two resources with the same name may have been meant to have another.
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
    const canonical = this.#judge.canonical(kind, manifest, this.#log.report);
    if (!isNew || canonical === undefined) return;
    this.#judge.content(identity, manifest, canonical, {
      report: this.#log.report,
      warn: (note) => this.warnings.push(note),
    });
    const declaration = declarationOf(identity, manifest, canonical);
    this.#declarations.push(declaration);
    onSpec?.(declaration, manifest, canonical);
  }

  /** Returns the referenced identities, and reports references that lead nowhere. */
  resolve(declaration: Declaration): Identity[] {
    const within = workspacesIn(declaration);
    // An undeclared workspace may be a typing error; the resource is then meant for another one.
    this.#log.about(within, !this.#identities.hasWorkspace(declaration.identity.workspace));
    this.#waiting.about(within, false);
    const references = this.#identities.resolve(declaration, !this.#incomplete);
    this.#names ??= new DeclaredNames(this.#declarations, this.externals, this.#reports);
    return this.#names.addNamed(references, declaration, !this.#incomplete);
  }
}

/** A workspace also counts under its previous names, because the server may still use one. */
function workspacesIn({
  identity,
  previousNames,
}: Pick<Declaration, 'identity' | 'previousNames'>): (string | null)[] {
  const former = identity.kind === 'Workspace' ? previousNames : [];
  return [owningWorkspace(identity), ...former];
}

function manifestWorkspaces({ kind, workspace, name, previousNames }: Manifest): (string | null)[] {
  if (kind === 'External') return [workspace];
  return workspacesIn({ identity: { kind, workspace, name }, previousNames });
}

function inOrder<T extends { readonly identity: Identity }>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ key: identityKey(item.identity), item }))
    .sort((one, two) => byCodeUnits(one.key, two.key))
    .map(({ item }) => item);
}
