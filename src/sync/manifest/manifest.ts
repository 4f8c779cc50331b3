/** Reads the envelope of a manifest: apiVersion, kind, metadata, spec and state. */
import { type KindName, kindNames, kinds, singletonName } from '../../model/kinds/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import { ignoreFileName, type SourceFault } from '../source/source-files.ts';
import { readMap, refuseUnknownKeys } from '../yaml/map-fields.ts';
import type { SourcePlace } from '../yaml/source-place.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { apiVersion } from './document-owner.ts';
import { readManifestMetadata } from './manifest-metadata.ts';

/** A resource in the source, with a checked envelope and an unchecked spec. */
export interface Manifest {
  readonly place: SourcePlace;
  /** The complete composed document, from which the following is read. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly kind: KindName | 'External';
  readonly name: string;
  readonly workspace: string | null;
  /** With variables replaced; {} when absent. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly absent: boolean;
  readonly protected: boolean;
  readonly previousNames: readonly string[];
  readonly onRemoval: 'delete' | 'retain';
  /** Paths as written. */
  readonly ignoreFields: readonly string[];
}

const envelopeKeys = ['apiVersion', 'kind', 'metadata', 'spec', 'state'];

/**
 * Reads one manifest and adds the faults of its envelope to `faults`.
 *
 * @returns undefined when the resource cannot be identified
 */
export function readManifest(
  document: Record<string, unknown>,
  place: SourcePlace,
  faults: SourceFault[],
): Manifest | undefined {
  return new Envelope(document, place, faults).read();
}

class Envelope {
  readonly #document: Record<string, unknown>;
  readonly #place: SourcePlace;
  readonly #faults: SourceFault[];

  constructor(document: Record<string, unknown>, place: SourcePlace, faults: SourceFault[]) {
    this.#document = document;
    this.#place = place;
    this.#faults = faults;
  }

  read(): Manifest | undefined {
    refuseUnknownKeys(this.#document, [], envelopeKeys, this.#place, this.#faults);
    this.#checkVersion();
    const kind = this.#readKind();
    const absent = this.#readState();
    const spec = readMap(this.#document, 'spec', [], this.#place, this.#faults);
    const metadata = readManifestMetadata(this.#document, absent, this.#place, this.#faults);
    const { name, workspace } = metadata;
    if (kind === undefined || name === undefined || workspace === undefined) return undefined;
    if (kind !== 'External') {
      this.#checkWorkspace(kind, workspace);
      this.#checkName(kind, name);
    }
    const { previousNames, onRemoval, ignoreFields, protected: isProtected } = metadata;
    return {
      place: this.#place,
      document: this.#document,
      kind,
      name,
      workspace,
      spec,
      absent,
      protected: isProtected,
      previousNames,
      onRemoval,
      ignoreFields,
    };
  }

  #report(segments: Segments, code: string, message: string, fix?: string): void {
    this.#faults.push(this.#place.fault(segments, code, message, fix));
  }

  #checkVersion(): void {
    const version = this.#document.apiVersion;
    if (version === apiVersion) return;
    const fix = `write apiVersion: ${apiVersion}`;
    if (version === undefined) this.#report([], 'missing-field', 'apiVersion is required', fix);
    else
      this.#report(['apiVersion'], 'api-version', 'this apiVersion is not known', orIgnored(fix));
  }

  #readKind(): Manifest['kind'] | undefined {
    const { kind } = this.#document;
    if (isKnownKind(kind)) return kind;
    const all = [...kindNames, 'External', 'List'];
    if (typeof kind !== 'string') {
      this.#report(kind === undefined ? [] : ['kind'], 'missing-field', 'kind is required');
    } else {
      const fix = didYouMean(kind, all) ?? `kinds are ${all.join(', ')}`;
      this.#report(['kind'], 'unknown-kind', `the kind "${kind}" is not known`, fix);
    }
    return undefined;
  }

  #checkWorkspace(kind: KindName, workspace: string | null): void {
    const { workspaced } = kinds[kind];
    if (workspaced === 'none' && workspace !== null) {
      const message = `a ${kind} belongs to no workspace`;
      this.#report(['metadata', 'workspace'], 'workspace', message, 'remove metadata.workspace');
    } else if (workspaced === 'required' && workspace === null) {
      const message = `a ${kind} belongs to a workspace`;
      this.#report(['metadata'], 'workspace', message, 'set metadata.workspace');
    }
  }

  /** A second one under another name would be the same resource on the server. */
  #checkName(kind: KindName, name: string): void {
    if (kinds[kind].isSingleton !== true || name === singletonName) return;
    const where = kinds[kind].workspaced === 'none' ? 'an organisation' : 'a workspace';
    const message = `${where} has one ${kind}, which is called "${singletonName}"`;
    this.#report(['metadata', 'name'], 'name', message, `write name: ${singletonName}`);
  }

  #readState(): boolean {
    const { state } = this.#document;
    if (state === undefined || state === 'present' || state === 'absent') return state === 'absent';
    this.#report(['state'], 'wrong-value', 'state must be "present" or "absent"');
    return false;
  }
}

/** A document that looks like a manifest may still belong to another program. */
function orIgnored(fix: string): string {
  return `${fix}, or name the file in ${ignoreFileName} if it is another program's`;
}

const knownKinds: ReadonlySet<unknown> = new Set([...kindNames, 'External']);

function isKnownKind(kind: unknown): kind is Manifest['kind'] {
  return knownKinds.has(kind);
}
