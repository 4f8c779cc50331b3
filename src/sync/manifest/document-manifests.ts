/** Knows which manifests a document holds, one or a List of them, and puts variables into their values. */
import type { SourceFault } from '../source/source-files.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { isMap, refuseUnknownKeys } from './map-fields.ts';
import { substitutionDisabled } from './metadata.ts';
import { Place } from './place.ts';
import { type Environment, substitute } from './substitute.ts';
import type { YamlDocument } from './yaml-document.ts';

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly SourceFault[];
  /** Something stands here whose identity could not be read: references to it cannot be judged. */
  readonly unidentified: boolean;
}

/** Reads a document: one manifest, or a List of them. */
export function readManifests(document: YamlDocument, environment: Environment): ReadManifests {
  const { value } = document;
  if (isMap(value) && value.kind === 'List') return readList(value, document, environment);
  return readOne(value, document, new Place(document), environment);
}

function readList(
  list: Record<string, unknown>,
  document: YamlDocument,
  environment: Environment,
): ReadManifests {
  const place = new Place(document);
  const faults: SourceFault[] = [];
  refuseUnknownKeys(list, [], ['apiVersion', 'kind', 'metadata', 'items'], place, faults);
  if (!Array.isArray(list.items)) {
    faults.push(place.fault([], 'list-items', 'a List needs items: a list of manifests'));
    return { manifests: [], faults, unidentified: true };
  }
  const read = list.items.map((item: unknown, at) => {
    const inner = new Place(document, ['items', `${at}`]);
    if (!isMap(item) || item.kind !== 'List') return readOne(item, document, inner, environment);
    const fault = inner.fault(['kind'], 'nested-list', 'a List cannot hold another List');
    return { manifests: [], faults: [fault], unidentified: true };
  });
  return {
    manifests: read.flatMap(({ manifests }) => manifests),
    faults: [...faults, ...read.flatMap((one) => one.faults)],
    unidentified: read.some(({ unidentified }) => unidentified),
  };
}

function readOne(
  raw: unknown,
  document: YamlDocument,
  place: Place,
  environment: Environment,
): ReadManifests {
  if (!isMap(raw) || (raw.apiVersion === undefined && raw.kind === undefined)) {
    const fix = 'a manifest begins with apiVersion, kind and metadata';
    const fault = place.fault([], 'not-a-manifest', 'this is no manifest', fix);
    return { manifests: [], faults: [fault], unidentified: true };
  }
  const isPlain =
    !document.mentionsVariables || isRawName(document.source.path) || substitutionDisabled(raw);
  const { values, wholeVariables, faults } = isPlain
    ? { values: raw, wholeVariables: none, faults: [] }
    : replaceVariables(raw, place, environment);
  const manifest = readManifest(values, place, wholeVariables, faults);
  return {
    manifests: manifest === undefined ? [] : [manifest],
    faults,
    unidentified: manifest === undefined,
  };
}

const none: ReadonlySet<string> = new Set();

/** Files of this name are taken as they are. */
function isRawName(path: string): boolean {
  return /\.raw\.(ya?ml|json)$/i.test(path);
}

function replaceVariables(
  raw: Record<string, unknown>,
  place: Place,
  environment: Environment,
): {
  readonly values: Record<string, unknown>;
  readonly wholeVariables: ReadonlySet<string>;
  readonly faults: SourceFault[];
} {
  const { value, whole, faults } = substitute(raw, environment);
  return {
    values: value as Record<string, unknown>,
    wholeVariables: whole,
    faults: faults.map(({ segments, code, message, fix }) =>
      place.fault(segments, code, message, fix),
    ),
  };
}
