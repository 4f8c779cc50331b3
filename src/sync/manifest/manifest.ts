/** Knows the envelope of a manifest: apiVersion, kind, metadata, state, and the List that holds several. */
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { type KindName, kindNames, kinds } from '../../model/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import type { Fault } from '../source/source-files.ts';
import type { Position } from '../spec/resource-set.ts';
import { type Environment, mentionsVariables, substitute } from './substitute.ts';
import type { YamlDocument } from './yaml-document.ts';
import { locate, type Segments, type YamlText } from './yaml-position.ts';

export const apiVersion = 'gatewright.dev/v1';

/** One resource as it stands in the source, its envelope checked, its spec still as written. */
export interface Manifest {
  readonly place: Place;
  readonly kind: KindName | 'External';
  readonly name: string;
  readonly workspace: string | null;
  /** Variables replaced; {} when there is none. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly absent: boolean;
  readonly protected: boolean;
  readonly previousNames: readonly string[];
  readonly onRemoval: 'delete' | 'retain';
  /** Places whose whole value was a variable (see {@link substitute}). */
  readonly wholeVariables: ReadonlySet<string>;
}

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly Fault[];
  /** Something stands here whose identity could not be read: references to it cannot be judged. */
  readonly unidentified: boolean;
}

/** Where a manifest stands: finds positions below it and makes faults of them. */
class Place {
  readonly source: YamlText;
  readonly #index: number;
  readonly #position: Position;
  /** From the document to the manifest: empty, or `items`, index. */
  readonly #base: Segments;

  /** Keeps what leads to the document, not its values. */
  constructor({ source, index, position }: YamlDocument, base: Segments) {
    this.source = source;
    this.#index = index;
    this.#position = position;
    this.#base = base;
  }

  /** Where the manifest begins. */
  get start(): Position {
    return this.#base.length === 0 ? this.#position : this.at([]);
  }

  at(segments: Segments, part: 'key' | 'value' = 'value'): Position {
    return locate(this.source, this.#index, [...this.#base, ...segments], part);
  }

  /** @param fix what to do about it, if that can be said */
  fault(segments: Segments, code: string, message: string, fix?: string): Fault {
    return { position: this.at(segments), code, message, fix };
  }
}

/** Reads a document: one manifest, or a List of them. */
export function readManifests(document: YamlDocument, environment: Environment): ReadManifests {
  const { value } = document;
  if (isMap(value) && value.kind === 'List') return readList(value, document, environment);
  return readOne(value, new Place(document, []), environment);
}

function readList(
  list: Record<string, unknown>,
  document: YamlDocument,
  environment: Environment,
): ReadManifests {
  const place = new Place(document, []);
  const faults = unknownKeys(list, [], ['apiVersion', 'kind', 'metadata', 'items'], place);
  if (!Array.isArray(list.items)) {
    faults.push(place.fault([], 'list-items', 'a List needs items: a list of manifests'));
    return { manifests: [], faults, unidentified: true };
  }
  const read = list.items.map((item: unknown, at) => {
    const inner = new Place(document, ['items', `${at}`]);
    if (!isMap(item) || item.kind !== 'List') return readOne(item, inner, environment);
    const fault = inner.fault(['kind'], 'nested-list', 'a List cannot hold another List');
    return { manifests: [], faults: [fault], unidentified: true };
  });
  return {
    manifests: read.flatMap(({ manifests }) => manifests),
    faults: [...faults, ...read.flatMap((one) => one.faults)],
    unidentified: read.some(({ unidentified }) => unidentified),
  };
}

function readOne(raw: unknown, place: Place, environment: Environment): ReadManifests {
  if (!isMap(raw) || (raw.apiVersion === undefined && raw.kind === undefined)) {
    const fix = 'a manifest begins with apiVersion, kind and metadata';
    const fault = place.fault([], 'not-a-manifest', 'this is no manifest', fix);
    return { manifests: [], faults: [fault], unidentified: true };
  }
  const { document, wholeVariables, faults } = replaceVariables(raw, place, environment);
  const manifest = new Envelope(document, place, faults).read(wholeVariables);
  return {
    manifests: manifest === undefined ? [] : [manifest],
    faults,
    unidentified: manifest === undefined,
  };
}

interface Replaced {
  readonly document: Record<string, unknown>;
  readonly wholeVariables: ReadonlySet<string>;
  readonly faults: Fault[];
}

const none: ReadonlySet<string> = new Set();

function replaceVariables(
  document: Record<string, unknown>,
  place: Place,
  environment: Environment,
): Replaced {
  const { path, text } = place.source;
  const isRaw = /\.raw\.(ya?ml|json)$/i.test(path) || substitutionDisabled(document);
  if (isRaw || !mentionsVariables(text)) return { document, wholeVariables: none, faults: [] };
  const { value, whole, faults } = substitute(document, environment);
  return {
    document: value as Record<string, unknown>,
    wholeVariables: whole,
    faults: faults.map(({ segments, code, message, fix }) =>
      place.fault(segments, code, message, fix),
    ),
  };
}

const substituteAnnotation = 'gatewright.dev/substitute';
const deletionAnnotation = 'gatewright.dev/deletion';

function substitutionDisabled(document: Record<string, unknown>): boolean {
  const { metadata } = document;
  if (!isMap(metadata) || !isMap(metadata.annotations)) return false;
  return metadata.annotations[substituteAnnotation] === 'disabled';
}

/** What the annotations of this program may be set to. */
const annotationValues: ReadonlyMap<string, readonly string[]> = new Map([
  [deletionAnnotation, ['delete', 'retain']],
  [substituteAnnotation, ['enabled', 'disabled']],
]);

const envelopeKeys = ['apiVersion', 'kind', 'metadata', 'spec', 'state'];
const metadataKeys = ['name', 'workspace', 'labels', 'previousNames', 'protected', 'annotations'];

/** Reads one envelope and collects what is wrong with it. */
class Envelope {
  readonly #document: Record<string, unknown>;
  readonly #place: Place;
  readonly #faults: Fault[];

  constructor(document: Record<string, unknown>, place: Place, faults: Fault[]) {
    this.#document = document;
    this.#place = place;
    this.#faults = faults;
  }

  /** Undefined when the identity is not clear. */
  read(wholeVariables: ReadonlySet<string>): Manifest | undefined {
    const document = this.#document;
    this.#faults.push(...unknownKeys(document, [], envelopeKeys, this.#place));
    this.#checkVersion();
    const kind = this.#readKind();
    const metadata = this.#readMap(document, 'metadata', []);
    if (document.metadata === undefined) this.#report([], 'missing-field', 'metadata is required');
    this.#faults.push(...unknownKeys(metadata, ['metadata'], metadataKeys, this.#place));
    this.#checkLabels(metadata);
    const spec = this.#readMap(document, 'spec', []);
    const absent = this.#readState();
    const name = this.#readName(metadata, 'name');
    const workspace = this.#readName(metadata, 'workspace');
    const isProtected = this.#readProtected(metadata, absent);
    const previousNames = this.#readPreviousNames(metadata, name);
    const onRemoval = this.#readAnnotations(metadata);
    if (name === undefined && metadata.name === undefined && document.metadata !== undefined) {
      this.#report(['metadata'], 'missing-field', 'metadata.name is required');
    }
    if (kind === undefined || name === undefined) return undefined;
    if (metadata.workspace !== undefined && workspace === undefined) return undefined;
    if (kind !== 'External') this.#checkWorkspace(kind, workspace);
    return {
      place: this.#place,
      kind,
      name,
      workspace: workspace ?? null,
      spec,
      absent,
      protected: isProtected,
      previousNames,
      onRemoval,
      wholeVariables,
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
    else this.#report(['apiVersion'], 'api-version', 'this apiVersion is not known', fix);
  }

  #readKind(): Manifest['kind'] | undefined {
    const { kind } = this.#document;
    const names = [...kindNames, 'External' as const];
    const found = names.find((name) => name === kind);
    if (found !== undefined) return found;
    const all = [...names, 'List'];
    if (typeof kind !== 'string') {
      this.#report(kind === undefined ? [] : ['kind'], 'missing-field', 'kind is required');
    } else {
      const fix = didYouMean(kind, all) ?? `kinds are ${all.join(', ')}`;
      this.#report(['kind'], 'unknown-kind', `the kind "${kind}" is not known`, fix);
    }
    return undefined;
  }

  /** The map at `key`; {} when there is none or it is no map, which is then reported. */
  #readMap(holder: Record<string, unknown>, key: string, above: Segments): Record<string, unknown> {
    const value = holder[key];
    if (isMap(value)) return value;
    if (value !== undefined && value !== null) {
      const label = [...above, key].join('.');
      this.#report([...above, key], 'wrong-type', `${label} must be a map`);
    }
    return {};
  }

  #readName(metadata: Record<string, unknown>, key: 'name' | 'workspace'): string | undefined {
    const value = metadata[key];
    if (value === undefined || (value === null && key === 'workspace')) return undefined;
    if (typeof value === 'string' && managedNamePattern.test(value)) return value;
    const isScalar = typeof value === 'number' || typeof value === 'boolean';
    const fix = isScalar && managedNamePattern.test(`${value}`) ? 'put it in quotes' : undefined;
    this.#report(['metadata', key], 'name', `metadata.${key} must have ${managedNameForm}`, fix);
    return undefined;
  }

  #checkWorkspace(kind: KindName, workspace: string | undefined): void {
    const { workspaced } = kinds[kind];
    if (workspaced === 'none' && workspace !== undefined) {
      const message = `a ${kind} belongs to no workspace`;
      this.#report(['metadata', 'workspace'], 'workspace', message, 'remove metadata.workspace');
    } else if (workspaced === 'required' && workspace === undefined) {
      const message = `a ${kind} belongs to a workspace`;
      this.#report(['metadata'], 'workspace', message, 'set metadata.workspace');
    }
  }

  #readState(): boolean {
    const { state } = this.#document;
    if (state === undefined || state === 'present' || state === 'absent') return state === 'absent';
    this.#report(['state'], 'wrong-value', 'state must be "present" or "absent"');
    return false;
  }

  #checkLabels(metadata: Record<string, unknown>): void {
    const labels = this.#readMap(metadata, 'labels', ['metadata']);
    for (const [key, value] of Object.entries(labels)) {
      if (typeof value === 'string') continue;
      const message = `the label ${key} must be text`;
      this.#report(['metadata', 'labels', key], 'wrong-type', message, 'put it in quotes');
    }
  }

  #readProtected(metadata: Record<string, unknown>, absent: boolean): boolean {
    const value = metadata.protected;
    if (value === undefined) return false;
    const segments = ['metadata', 'protected'];
    if (typeof value !== 'boolean') {
      this.#report(segments, 'wrong-type', 'metadata.protected must be true or false');
    } else if (value && absent) {
      const message = 'a protected resource cannot have state: absent';
      this.#report(segments, 'protected', message, 'remove one of the two');
    }
    return value === true;
  }

  #readPreviousNames(metadata: Record<string, unknown>, name: string | undefined): string[] {
    const value = metadata.previousNames;
    if (value === undefined) return [];
    const segments = ['metadata', 'previousNames'];
    if (!Array.isArray(value)) {
      this.#report(segments, 'wrong-type', 'metadata.previousNames must be a list of names');
      return [];
    }
    return value.filter((item: unknown, at): item is string => {
      const isName = typeof item === 'string' && managedNamePattern.test(item);
      const wrong = isName
        ? item === name && 'is the present name'
        : `must have ${managedNameForm}`;
      if (wrong === false) return true;
      this.#report([...segments, `${at}`], 'name', `a previous name ${wrong}`);
      return false;
    });
  }

  /** The value of the deletion annotation. Annotations of other tools pass. */
  #readAnnotations(metadata: Record<string, unknown>): 'delete' | 'retain' {
    if (metadata.annotations === undefined) return 'delete';
    const annotations = this.#readMap(metadata, 'annotations', ['metadata']);
    for (const [key, value] of Object.entries(annotations)) {
      if (!key.startsWith('gatewright.dev/')) continue;
      const segments = ['metadata', 'annotations', key];
      const values = annotationValues.get(key);
      if (values === undefined) {
        const fix = didYouMean(key, annotationValues.keys());
        this.#report(segments, 'annotation', `the annotation ${key} is not known`, fix);
      } else if (typeof value !== 'string' || !values.includes(value)) {
        this.#report(segments, 'annotation', `${key} must be ${values.join(' or ')}`);
      }
    }
    return annotations[deletionAnnotation] === 'retain' ? 'retain' : 'delete';
  }
}

function unknownKeys(
  map: Record<string, unknown>,
  above: Segments,
  known: readonly string[],
  place: Place,
): Fault[] {
  return Object.keys(map)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const where = above.length === 0 ? 'a manifest' : above.join('.');
      const fix = didYouMean(key, known) ?? `known are ${known.join(', ')}`;
      const position = place.at([...above, key], 'key');
      return { position, code: 'unknown-field', message: `${where} has no field "${key}"`, fix };
    });
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
