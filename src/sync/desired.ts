/** Knows how manifests become one set: each identity once, every reference leading somewhere. */
import { type KindName, kinds } from '../model/kinds.ts';
import { type Canonical, canonicalise, type PendingReference } from './canonical.ts';
import { readExternal } from './external.ts';
import { type Manifest, readManifests } from './manifest.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type Identity,
  identityKey,
  type Position,
} from './resource-set.ts';
import type { SecretSources } from './secrets.ts';
import { byCodeUnits, byPlace, type Fault, type SourceFiles } from './source-files.ts';
import { writtenPath } from './spec-faults.ts';
import { segmentsOf } from './spec-paths.ts';
import { nearest } from './suggest.ts';
import { readDocuments } from './yaml-document.ts';

export type Desired =
  | { readonly set: DesiredSet; readonly faults?: undefined }
  | { readonly set?: undefined; readonly faults: readonly Fault[] };

/**
 * Reads and checks everything in a source as far as that goes without a server. All faults are
 * found in one pass and come in the order of their places; resources come in the order of their
 * identities, so that neither files nor documents nor keys matter by their order.
 */
export function readDesired(files: SourceFiles, sources: SecretSources): Desired {
  return toDesired(new Reader(files, sources).run(), files);
}

/**
 * As {@link readDesired}, and also judges the free-form parts of specs as the server would. What it
 * takes to do so is loaded only for a source that has such parts.
 */
export async function readChecked(files: SourceFiles, sources: SecretSources): Promise<Desired> {
  const read = new Reader(files, sources).run();
  const judged = read.resources.filter(({ identity }) => freeForm.has(identity.kind));
  if (judged.length === 0) return toDesired(read, files);
  const { contentFaults } = await import('./content-faults.ts');
  return toDesired({ ...read, faults: [...read.faults, ...judged.flatMap(contentFaults)] }, files);
}

const freeForm: ReadonlySet<KindName> = new Set(['Config', 'Guardrail', 'McpIntegration']);

/** What stands in a source; resources with faults of their own are left out. */
interface ReadSource {
  readonly resources: readonly DesiredResource[];
  readonly externals: readonly ExternalResource[];
  readonly faults: readonly Fault[];
}

function toDesired({ resources, externals, faults }: ReadSource, { info }: SourceFiles): Desired {
  if (faults.length > 0) return { faults: faults.toSorted(byPlace) };
  return {
    set: { resources: inOrder(resources), externals: inOrder(externals), source: info },
  };
}

/** What a reference may lead to. */
interface Target {
  readonly key: string;
  readonly identity: Identity;
  readonly manifest: Manifest;
}

interface Draft {
  readonly identity: Identity;
  readonly manifest: Manifest;
  readonly canonical: Canonical;
}

const noCanonical: Canonical = {
  spec: {},
  secrets: new Map(),
  references: [],
  secretOutput: null,
};

class Reader {
  readonly #files: SourceFiles;
  readonly #sources: SecretSources;
  readonly #faults: Fault[];
  readonly #targets = new Map<string, Target>();
  readonly #drafts: Draft[] = [];
  readonly #externals: ExternalResource[] = [];
  /** Something could not be identified: what seems missing may be there. */
  #incomplete: boolean;

  constructor(files: SourceFiles, sources: SecretSources) {
    this.#files = files;
    this.#sources = sources;
    this.#faults = [...files.faults];
    this.#incomplete = files.faults.length > 0;
  }

  run(): ReadSource {
    for (const file of this.#files.files) {
      const { documents, faults } = readDocuments(file);
      this.#take(faults, faults.length > 0);
      for (const document of documents) {
        const read = readManifests(document, this.#sources.environment);
        this.#take(read.faults, read.unidentified);
        for (const manifest of read.manifests) this.#takeManifest(manifest);
      }
    }
    const resources = this.#drafts.map((draft) => this.#finish(draft));
    this.#refuseSharedValues();
    return { resources, externals: this.#externals, faults: this.#faults };
  }

  #take(faults: readonly Fault[], unidentified: boolean): void {
    this.#faults.push(...faults);
    this.#incomplete ||= unidentified;
  }

  #takeManifest(manifest: Manifest): void {
    const report = (fault: Fault): void => {
      this.#faults.push(fault);
    };
    if (manifest.kind === 'External') {
      const external = readExternal(manifest, report);
      if (external === undefined) this.#incomplete = true;
      else if (this.#claim(external.identity, manifest)) this.#externals.push(external);
      return;
    }
    const identity = { kind: manifest.kind, workspace: manifest.workspace, name: manifest.name };
    const isNew = this.#claim(identity, manifest);
    const canonical = manifest.absent
      ? noCanonical
      : canonicalise(manifest.kind, manifest, this.#sources, report);
    if (isNew && canonical !== undefined) this.#drafts.push({ identity, manifest, canonical });
  }

  /** Whether the identity is free; a second one is reported at both places. */
  #claim(identity: Identity, manifest: Manifest): boolean {
    const key = identityKey(identity);
    const holder = this.#targets.get(key);
    if (holder === undefined) {
      this.#targets.set(key, { key, identity, manifest });
      return true;
    }
    const message = `${key} is declared twice, first at ${placeText(nameOf(holder))}`;
    const segments = ['metadata', 'name'];
    this.#faults.push(
      manifest.place.fault(segments, 'duplicate', message, 'remove one of the two'),
    );
    return false;
  }

  #finish({ identity, manifest, canonical }: Draft): DesiredResource {
    const references = new Map<string, Identity>();
    const pending = [...canonical.references];
    const workspaceIsReferred = pending.some(({ written }) => written[0] === 'metadata');
    if (identity.workspace !== null && !workspaceIsReferred) pending.push(workspaceOf(identity));
    for (const reference of pending) {
      const target = this.#resolve(reference, identity, manifest);
      if (target === undefined) continue;
      reference.resolve(target.key);
      references.set(target.key, target.identity);
    }
    const { spec, secrets, secretOutput } = canonical;
    return {
      identity,
      position: manifest.place.start,
      positionOf: (pointer) => manifest.place.at(writtenPath(manifest.spec, segmentsOf(pointer))),
      spec,
      secrets,
      references: [...references.values()],
      absent: manifest.absent,
      protected: manifest.protected,
      previousNames: manifest.previousNames,
      onRemoval: manifest.onRemoval,
      secretOutput,
    };
  }

  #resolve(reference: PendingReference, from: Identity, manifest: Manifest): Target | undefined {
    const found = meanings(reference, from)
      .map((identity) => this.#targets.get(identityKey(identity)))
      .find((target) => target !== undefined);
    if (found !== undefined && (!found.manifest.absent || manifest.absent)) return found;
    const { kind, text, written } = reference;
    if (found !== undefined) {
      const message = `${kind} "${text}" is declared absent at ${placeText(nameOf(found))}`;
      this.#faults.push(manifest.place.fault(written, 'dangling-reference', message));
    } else if (!this.#incomplete) {
      const message = `${kind} "${text}" is not declared in this source`;
      const fix = this.#nearName(reference, from) ?? `declare it, or add an External for it`;
      this.#faults.push(manifest.place.fault(written, 'dangling-reference', message, fix));
    }
    return undefined;
  }

  #nearName({ kind, text }: PendingReference, from: Identity): string | undefined {
    const names = [...this.#targets.values()]
      .filter(({ identity, manifest }) => identity.kind === kind && !manifest.absent)
      .map(({ identity: { workspace, name } }) =>
        workspace === null || workspace === from.workspace ? name : `${workspace}/${name}`,
      );
    const bare = text.slice(text.indexOf('/') + 1);
    const elsewhere = names.find((name) => name === bare || name.endsWith(`/${bare}`));
    const near = nearest(text, names) ?? elsewhere;
    return near === undefined ? undefined : `did you mean "${near}"?`;
  }

  /** Values that only one resource may have: slugs, files of key values, former names. */
  #refuseSharedValues(): void {
    const seen = new Map<string, () => Position>();
    const claim = (key: string, what: string, { manifest }: Draft, segments: string[]): void => {
      const first = seen.get(key);
      if (first === undefined) {
        seen.set(key, () => manifest.place.at(segments));
        return;
      }
      const message = `${what} is used twice, first at ${placeText(first())}`;
      const fix = 'change one of the two';
      this.#faults.push(manifest.place.fault(segments, 'duplicate', message, fix));
    };
    for (const draft of this.#drafts) {
      const { identity, manifest, canonical } = draft;
      const { kind, workspace } = identity;
      const { slug } = canonical.spec;
      if (typeof slug === 'string') {
        claim(`slug ${kind} ${slug}`, `the slug "${slug}"`, draft, ['spec', 'slug']);
      }
      const path = canonical.secretOutput?.path;
      if (path !== undefined) {
        claim(`file ${path}`, `the file ${path}`, draft, ['spec', 'secretOutput']);
      }
      manifest.previousNames.forEach((name, at) => {
        const key = identityKey({ kind, workspace, name });
        const segments = ['metadata', 'previousNames', `${at}`];
        claim(`former ${key}`, `the previous name ${key}`, draft, segments);
      });
    }
  }
}

/** What a written name can mean, best first: in its own workspace, then at organisation level. */
function meanings({ kind, text }: PendingReference, from: Identity): Identity[] {
  if (kinds[kind].workspaced === 'none') return [{ kind, workspace: null, name: text }];
  const [first = '', second] = text.split('/');
  if (second !== undefined) return [{ kind, workspace: first, name: second }];
  const own = { kind, workspace: from.workspace, name: first };
  return from.workspace === null ? [own] : [own, { ...own, workspace: null }];
}

/** The workspace of a kind that does not send it, or of a resource that is to be absent. */
function workspaceOf(identity: Identity): PendingReference {
  const kind: KindName = 'Workspace';
  const written = ['metadata', 'workspace'];
  return { kind, text: identity.workspace ?? '', written, resolve: () => undefined };
}

function nameOf({ manifest }: Target): Position {
  return manifest.place.at(['metadata', 'name']);
}

function placeText({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}

function inOrder<T extends { readonly identity: Identity }>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ key: identityKey(item.identity), item }))
    .sort((one, two) => byCodeUnits(one.key, two.key))
    .map(({ item }) => item);
}
