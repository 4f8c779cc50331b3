/** Reads the metadata of a manifest: names, labels, protection and known annotations. */
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { didYouMean } from '../../suggest.ts';
import type { SourceFault } from '../source/source-files.ts';
import { isMap, readMap, refuseUnknownKeys } from '../yaml/map-fields.ts';
import type { SourcePlace } from '../yaml/source-place.ts';
import type { Segments } from '../yaml/yaml-position.ts';

export interface ManifestMetadata {
  /** Undefined when missing or invalid. */
  readonly name: string | undefined;
  /** Null when absent, undefined when invalid. */
  readonly workspace: string | null | undefined;
  readonly protected: boolean;
  readonly previousNames: readonly string[];
  readonly onRemoval: 'delete' | 'retain';
  /** As written. */
  readonly ignoreFields: readonly string[];
}

export const substituteAnnotation = 'gatewright.dev/substitute';
const deletionAnnotation = 'gatewright.dev/deletion';

interface Annotation {
  readonly meaning: string;
  /** The first value is the default. */
  readonly values: readonly [string, ...string[]];
}

/** The annotations of this program. */
export const annotations: ReadonlyMap<string, Annotation> = new Map([
  [
    deletionAnnotation,
    {
      meaning: 'What happens to the resource when its manifest leaves the source.',
      values: ['delete', 'retain'],
    },
  ],
  [
    substituteAnnotation,
    { meaning: 'Whether variables are replaced.', values: ['enabled', 'disabled'] },
  ],
]);

export const metadataKeys = [
  'name',
  'workspace',
  'labels',
  'previousNames',
  'protected',
  'annotations',
  'ignoreFields',
];

/** Returns whether a document disables variable substitution. */
export function substitutionDisabled({ metadata }: Record<string, unknown>): boolean {
  if (!isMap(metadata) || !isMap(metadata.annotations)) return false;
  return metadata.annotations[substituteAnnotation] === 'disabled';
}

/**
 * Reads the metadata of a manifest and adds faults to `faults`.
 *
 * @param absent whether the manifest is a tombstone
 */
export function readManifestMetadata(
  document: Record<string, unknown>,
  absent: boolean,
  place: SourcePlace,
  faults: SourceFault[],
): ManifestMetadata {
  return new MetadataReader(document, place, faults).read(absent);
}

/** Shared by all manifests without names, which are many. */
const noNames: readonly string[] = [];

class MetadataReader {
  readonly #metadata: Record<string, unknown>;
  /** Whether the key `metadata` is present, even without a value. */
  readonly #isGiven: boolean;
  readonly #place: SourcePlace;
  readonly #faults: SourceFault[];

  constructor(document: Record<string, unknown>, place: SourcePlace, faults: SourceFault[]) {
    this.#metadata = readMap(document, 'metadata', [], place, faults);
    this.#isGiven = document.metadata !== undefined;
    this.#place = place;
    this.#faults = faults;
  }

  read(absent: boolean): ManifestMetadata {
    refuseUnknownKeys(this.#metadata, ['metadata'], metadataKeys, this.#place, this.#faults);
    this.#checkLabels();
    const name = this.#readName('name');
    if (!this.#isGiven) {
      this.#report([], 'missing-field', 'metadata is required');
    } else if (this.#metadata.name === undefined) {
      this.#report(['metadata'], 'missing-field', 'metadata.name is required');
    }
    return {
      name,
      workspace: (this.#metadata.workspace ?? null) === null ? null : this.#readName('workspace'),
      protected: this.#readProtected(absent),
      previousNames: this.#readPreviousNames(name),
      onRemoval: this.#readAnnotations(),
      ignoreFields: this.#readIgnoreFields(),
    };
  }

  #report(segments: Segments, code: string, message: string, fix?: string): void {
    this.#faults.push(this.#place.fault(segments, code, message, fix));
  }

  #readName(key: 'name' | 'workspace'): string | undefined {
    const value = this.#metadata[key];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && managedNamePattern.test(value)) return value;
    const isScalar = typeof value === 'number' || typeof value === 'boolean';
    const fix = isScalar && managedNamePattern.test(`${value}`) ? 'put it in quotes' : undefined;
    this.#report(['metadata', key], 'name', `metadata.${key} must have ${managedNameForm}`, fix);
    return undefined;
  }

  #checkLabels(): void {
    const labels = this.#readMap('labels');
    for (const key of Object.keys(labels)) {
      if (typeof labels[key] === 'string') continue;
      const message = `the label ${key} must be text`;
      this.#report(['metadata', 'labels', key], 'wrong-type', message, 'put it in quotes');
    }
  }

  #readProtected(absent: boolean): boolean {
    const value = this.#metadata.protected;
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

  #readPreviousNames(name: string | undefined): readonly string[] {
    const value = this.#metadata.previousNames;
    if (value === undefined) return noNames;
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

  #readIgnoreFields(): readonly string[] {
    const value = this.#metadata.ignoreFields;
    if (value === undefined) return noNames;
    const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
    if (isList) return value;
    const message = 'metadata.ignoreFields must be a list of paths';
    this.#report(['metadata', 'ignoreFields'], 'wrong-type', message, 'write [spec.rateLimits]');
    return noNames;
  }

  /** Returns the value of the deletion annotation. Annotations of other tools are ignored. */
  #readAnnotations(): 'delete' | 'retain' {
    if (this.#metadata.annotations === undefined) return 'delete';
    const given = this.#readMap('annotations');
    for (const [key, value] of Object.entries(given)) {
      if (!key.startsWith('gatewright.dev/')) continue;
      const segments = ['metadata', 'annotations', key];
      const values = annotations.get(key)?.values;
      if (values === undefined) {
        const fix = didYouMean(key, annotations.keys());
        this.#report(segments, 'annotation', `the annotation ${key} is not known`, fix);
      } else if (typeof value !== 'string' || !values.includes(value)) {
        this.#report(segments, 'annotation', `${key} must be ${values.join(' or ')}`);
      }
    }
    return given[deletionAnnotation] === 'retain' ? 'retain' : 'delete';
  }

  #readMap(key: string): Record<string, unknown> {
    return readMap(this.#metadata, key, ['metadata'], this.#place, this.#faults);
  }
}
