/** Knows which manifests a document holds, one or a List of them, and puts variables into their values. */

import { type Environment, substitute } from '../overlay/substitute.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { Position } from '../spec/resource-set.ts';
import { isMap, refuseUnknownKeys } from '../yaml/map-fields.ts';
import { Place } from '../yaml/place.ts';
import type { YamlDocument } from '../yaml/yaml-document.ts';
import { apiVersion, isForeign } from './document-owner.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { substitutionDisabled } from './metadata.ts';

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly SourceFault[];
  /** Something stands here whose identity could not be read: references to it cannot be judged. */
  readonly unidentified: boolean;
  /** It may not be clear to which workspace all of it belongs. */
  readonly misread: boolean;
  /** Where another program's documents stand, which are left alone. */
  readonly foreign: readonly Position[];
  /** It holds encrypted values for manifests that name them, and declares nothing. */
  readonly isStore: boolean;
}

/** Reads a document: one manifest, or a List of them. */
export function readManifests(document: YamlDocument, environment: Environment): ReadManifests {
  const { value } = document;
  if (isMap(value) && value.kind === 'List' && Array.isArray(value.items)) {
    return readList(value, value.items, document, environment);
  }
  const place = new Place(document);
  const isList = isMap(value) && value.kind === 'List';
  if (isForeign(value) && !(isList && value.apiVersion === 'v1') && !hidesItself(value)) {
    return isStore(document) ? { ...nothing, isStore: true } : foreignAt(place.start);
  }
  if (isList) {
    const fault = place.fault([], 'list-items', 'a List needs items: a list of manifests');
    return { ...nothing, faults: [fault], unidentified: true };
  }
  return readOne(value, document, place, environment);
}

const nothing: ReadManifests = {
  manifests: [],
  faults: [],
  unidentified: false,
  misread: false,
  foreign: [],
  isStore: false,
};

/** Whether what would tell whose a document is has been encrypted. */
function hidesItself(value: unknown): boolean {
  return isMap(value) && [value.apiVersion, value.kind].some((it) => it instanceof SealedValue);
}

/** An encrypted file of values for manifests that name them, which is theirs and declares nothing. */
function isStore({ value, isEncrypted }: YamlDocument): boolean {
  return isEncrypted === true && isMap(value) && !('apiVersion' in value) && !('kind' in value);
}

/** Where something is encrypted that says what a manifest is. */
function sealedOutsideSpec(raw: Record<string, unknown>): string[] | undefined {
  const { spec: _, ...envelope } = raw;
  return sealedIn(envelope, []);
}

function sealedIn(value: unknown, path: readonly string[]): string[] | undefined {
  if (value instanceof SealedValue) return [...path];
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const found = sealedIn(item, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function foreignAt(position: Position): ReadManifests {
  return { ...nothing, foreign: [position] };
}

function readList(
  list: Record<string, unknown>,
  items: readonly unknown[],
  document: YamlDocument,
  environment: Environment,
): ReadManifests {
  const place = new Place(document);
  const faults: SourceFault[] = [];
  const read = items.map((item: unknown, at): ReadManifests => {
    const inner = new Place(document, ['items', `${at}`]);
    if (isMap(item) && item.kind === 'List') {
      const fault = inner.fault(['kind'], 'nested-list', 'a List cannot hold another List');
      return { ...nothing, faults: [fault], unidentified: true };
    }
    if (isMap(item) && isForeign(item) && !hidesItself(item)) return foreignAt(inner.start);
    return readOne(item, document, inner, environment);
  });
  const foreign = read.flatMap((one) => one.foreign);
  if (items.length > 0 && foreign.length === items.length) return foreignAt(place.start);
  refuseUnknownKeys(list, [], ['apiVersion', 'kind', 'metadata', 'items'], place, faults);
  if (![undefined, 'v1', apiVersion].includes(list.apiVersion as string | undefined)) {
    const fix = `write apiVersion: ${apiVersion}`;
    faults.push(place.fault(['apiVersion'], 'api-version', 'this apiVersion is not known', fix));
  }
  return {
    manifests: read.flatMap(({ manifests }) => manifests),
    faults: [...faults, ...read.flatMap((one) => one.faults)],
    unidentified: read.some(({ unidentified }) => unidentified),
    misread: faults.length > 0 || read.some((one) => one.faults.length > 0),
    foreign,
    isStore: false,
  };
}

function readOne(
  raw: unknown,
  document: YamlDocument,
  place: Place,
  environment: Environment,
): ReadManifests {
  if (!isMap(raw) || (raw.apiVersion === undefined && raw.kind === undefined)) {
    const fault = notAManifest(place.start);
    return { ...nothing, faults: [fault], unidentified: true };
  }
  const sealed = document.isEncrypted === true ? sealedOutsideSpec(raw) : undefined;
  if (sealed !== undefined) {
    const message = `${sealed.join('.')} is encrypted, so that nothing tells what this declares`;
    const fix =
      "encrypt secret fields only: sops encrypt --encrypted-regex '^(headers|customHeaders)$'";
    const fault = place.fault(sealed, 'sealed-field', message, fix);
    return { ...nothing, faults: [fault], unidentified: true };
  }
  const isPlain =
    !document.mentionsVariables || isRawName(document.source.path) || substitutionDisabled(raw);
  const { values, wholeVariables, faults, isInSpec } = isPlain
    ? { values: raw, wholeVariables: none, faults: [], isInSpec: true }
    : replaceVariables(raw, place, environment);
  const variableFaults = faults.length;
  const manifest = readManifest(values, place, wholeVariables, faults);
  return {
    manifests: manifest === undefined ? [] : [manifest],
    faults,
    unidentified: manifest === undefined,
    misread: !isInSpec || faults.length > variableFaults,
    foreign: [],
    isStore: false,
  };
}

/** The workspaces that documents name which say no more of themselves that can be read. */
export function workspacesNamed({ value }: YamlDocument): string[] {
  const all: unknown[] = isMap(value) && Array.isArray(value.items) ? value.items : [value];
  return all.flatMap((one) => {
    if (!isMap(one) || !isMap(one.metadata)) return [];
    const { name, workspace } = one.metadata;
    const named = one.kind === 'Workspace' ? name : workspace;
    return typeof named === 'string' ? [named] : [];
  });
}

export function notAManifest(position: Position): SourceFault {
  const fix = `a manifest begins with apiVersion: ${apiVersion}, kind and metadata`;
  return { position, code: 'not-a-manifest', message: 'this is no manifest', fix };
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
  /** Whether all of them are about values of the spec. */
  readonly isInSpec: boolean;
} {
  const { value, whole, faults } = substitute(raw, environment);
  return {
    values: value as Record<string, unknown>,
    wholeVariables: whole,
    isInSpec: faults.every(({ segments }) => segments[0] === 'spec'),
    faults: faults.map(({ segments, code, message, fix }) =>
      place.fault(segments, code, message, fix),
    ),
  };
}
