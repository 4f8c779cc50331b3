/** Knows how manifests become one set: each identity once, every reference leading somewhere. */
import type { z } from 'zod';
import { loadBody } from '../../model/bodies.ts';
import { type KindName, kinds } from '../../model/kinds.ts';
import { nearest } from '../../suggest.ts';
import { byCodeUnits, byPlace, type Fault, type SourceFiles } from '../source/source-files.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type Identity,
  identityKey,
  type Position,
  type Spec,
} from '../spec/resource-set.ts';
import { segmentsOf } from '../spec/spec-paths.ts';
import { type Canonical, canonicalise, type PendingReference } from './canonical.ts';
import type { contentFaults } from './content-faults.ts';
import { readExternal } from './external.ts';
import { type Manifest, readManifests } from './manifest.ts';
import type { SecretSources } from './secrets.ts';
import { writtenPath } from './spec-faults.ts';
import { readDocuments } from './yaml-document.ts';

export type Desired =
  | { readonly set: DesiredSet; readonly faults?: undefined }
  | { readonly set?: undefined; readonly faults: readonly Fault[] };

/** What is known of a source once it has been checked, when it is not to be applied. */
export interface Checked {
  /** In the order of their places; none when the source can be applied. */
  readonly faults: readonly Fault[];
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
  const drafts = await reader.run();
  const resources = drafts.map((draft) => reader.finish(draft));
  if (reader.faults.length > 0) return { faults: reader.faults.toSorted(byPlace) };
  const externals = inOrder(reader.externals);
  return { set: { resources: inOrder(resources), externals, source: files.info } };
}

/** As {@link readDesired}, and forgets each spec once it is checked, which a large source needs. */
export async function checkSource(files: SourceFiles, sources: SecretSources): Promise<Checked> {
  const reader = new Reader(files, sources, false);
  const drafts = await reader.run();
  for (const draft of drafts) reader.resolveAll(draft);
  return {
    faults: reader.faults.toSorted(byPlace),
    kinds: drafts.map(({ identity }) => identity.kind),
  };
}

const freeForm: ReadonlySet<KindName> = new Set(['Config', 'Guardrail', 'McpIntegration']);

/** What a reference may lead to. */
interface Target {
  readonly key: string;
  readonly identity: Identity;
  readonly place: Manifest['place'];
  readonly absent: boolean;
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
  readonly faults: Fault[];
  readonly externals: ExternalResource[] = [];
  readonly #files: SourceFiles;
  readonly #sources: SecretSources;
  readonly #keepsSpecs: boolean;
  readonly #schemas = new Map<KindName, z.ZodObject>();
  readonly #targets = new Map<string, Target>();
  readonly #drafts: Draft[] = [];
  readonly #report = (fault: Fault): void => {
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
  }

  /** Resources with faults of their own are left out; references are not followed yet. */
  async run(): Promise<readonly Draft[]> {
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
    this.#refuseSharedValues();
    return this.#drafts;
  }

  /** Loads what it takes to check manifests of a kind. */
  async #prepare(kind: KindName): Promise<void> {
    this.#schemas.set(kind, await loadBody(kind));
    if (!freeForm.has(kind)) return;
    this.#contentFaults ??= (await import('./content-faults.ts')).contentFaults;
  }

  #take(faults: readonly Fault[], unidentified: boolean): void {
    this.faults.push(...faults);
    this.#incomplete ||= unidentified;
  }

  #takeManifest(manifest: Manifest): void {
    const { kind, workspace, name } = manifest;
    if (kind === 'External') {
      const external = readExternal(manifest, this.#report);
      if (external === undefined) this.#incomplete = true;
      else if (this.#claim(external.identity, manifest)) this.externals.push(external);
      return;
    }
    const identity = { kind, workspace, name };
    const isNew = this.#claim(identity, manifest);
    const canonical = manifest.absent ? noCanonical : this.#canonicalise(kind, manifest);
    if (!isNew || canonical === undefined) return;
    const draft = { identity, manifest, canonical };
    if (freeForm.has(kind) && !manifest.absent) {
      const positionOf = (pointer: string): Position => positionIn(manifest, pointer);
      const { spec, secrets } = canonical;
      const content = { identity, spec, secrets, positionOf };
      this.faults.push(...(this.#contentFaults?.(content) ?? []));
    }
    this.#drafts.push(this.#keepsSpecs ? draft : withoutSpec(draft));
  }

  #canonicalise(kind: KindName, manifest: Manifest): Canonical | undefined {
    const schema = this.#schemas.get(kind);
    if (schema === undefined) throw new Error(`the schema of ${kind} is not loaded`);
    return canonicalise(kind, schema, manifest, this.#sources, this.#report);
  }

  /** Whether the identity is free; a second one is reported at both places. */
  #claim(identity: Identity, manifest: Manifest): boolean {
    const key = identityKey(identity);
    const holder = this.#targets.get(key);
    if (holder === undefined) {
      const { place, absent } = manifest;
      this.#targets.set(key, { key, identity, place, absent });
      return true;
    }
    const message = `${key} is declared twice, first at ${placeText(nameOf(holder))}`;
    const segments = ['metadata', 'name'];
    const fix = 'remove one of the two';
    this.faults.push(manifest.place.fault(segments, 'duplicate', message, fix));
    return false;
  }

  /** Follows every reference of a resource and tells which lead nowhere. */
  resolveAll({ identity, manifest, canonical }: Draft): Identity[] {
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
    return [...references.values()];
  }

  finish(draft: Draft): DesiredResource {
    const { identity, manifest, canonical } = draft;
    const { spec, secrets, secretOutput } = canonical;
    return {
      identity,
      position: manifest.place.start,
      positionOf: (pointer) => positionIn(manifest, pointer),
      spec,
      secrets,
      references: this.resolveAll(draft),
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
    if (found !== undefined && (!found.absent || manifest.absent)) return found;
    const { kind, text, written } = reference;
    if (found !== undefined) {
      const message = `${kind} "${text}" is declared absent at ${placeText(nameOf(found))}`;
      this.faults.push(manifest.place.fault(written, 'dangling-reference', message));
    } else if (!this.#incomplete) {
      const message = `${kind} "${text}" is not declared in this source`;
      const fix = this.#nearName(reference, from) ?? `declare it, or add an External for it`;
      this.faults.push(manifest.place.fault(written, 'dangling-reference', message, fix));
    }
    return undefined;
  }

  #nearName({ kind, text }: PendingReference, from: Identity): string | undefined {
    const names = [...this.#targets.values()]
      .filter(({ identity, absent }) => identity.kind === kind && !absent)
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
      this.faults.push(manifest.place.fault(segments, 'duplicate', message, fix));
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

/** What is left to ask of a resource once its spec has been checked: who it is and what it claims. */
function withoutSpec({ identity, manifest, canonical }: Draft): Draft {
  const { slug } = canonical.spec;
  const spec: Spec = slug === undefined ? {} : { slug };
  return {
    identity,
    manifest: { ...manifest, spec: {} },
    canonical: { ...canonical, spec, secrets: noCanonical.secrets },
  };
}

/** Where a place of the canonical spec, as JSON pointer, stands in the source. */
function positionIn({ place, spec }: Manifest, pointer: string): Position {
  return place.at(writtenPath(spec, segmentsOf(pointer)));
}

function nameOf({ place }: Target): Position {
  return place.at(['metadata', 'name']);
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
