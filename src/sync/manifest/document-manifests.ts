/** Knows which manifests a document holds, one or a List of them, with all that goes into them. */

import type { Position } from '../resources/resource-set.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import type { SourceFault, SourceFile } from '../source/source-files.ts';
import { isMap, refuseUnknownKeys } from '../yaml/map-fields.ts';
import { DocumentPlace } from '../yaml/place.ts';
import type { YamlDocument } from '../yaml/yaml-document.ts';
import { apiVersion, isForeign } from './document-owner.ts';
import { sealedOutsideSpec } from './encrypted-files.ts';
import { isLayer, markOf, misplacedLayer, type ReadLayers } from './layer-documents.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { withVariables } from './variables.ts';

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly SourceFault[];
  /** Something stands here whose identity could not be read: references to it cannot be judged. */
  readonly unidentified: boolean;
  /** It may not be clear to which workspace all of it belongs. */
  readonly misread: boolean;
  /** Something stands here that goes into manifests and is none. */
  readonly isLayer: boolean;
  /** Where another program's documents stand, which are left alone. */
  readonly foreign: readonly Position[];
  /** It holds encrypted values for manifests that name them, and declares nothing. */
  readonly isStore: boolean;
}

/** What a document is read with, and the file that it stands in. */
export interface ReadingContext extends Pick<ReadLayers, 'layers' | 'variables'> {
  readonly file: SourceFile;
}

/** Reads a document: one manifest, or a List of them. */
export function readManifests(document: YamlDocument, context: ReadingContext): ReadManifests {
  const { value } = document;
  if (isMap(value) && value.kind === 'List' && Array.isArray(value.items)) {
    return readList(value, value.items, document, context);
  }
  const place = new DocumentPlace(document);
  const isList = isMap(value) && value.kind === 'List';
  if (isForeign(value) && !(isList && value.apiVersion === 'v1') && !hidesItself(value)) {
    return isStore(document) ? { ...nothing, isStore: true } : foreignAt(place.start);
  }
  if (isList) {
    const fault = place.fault([], 'list-items', 'a List needs items: a list of manifests');
    return { ...nothing, faults: [fault], unidentified: true };
  }
  return readOne(value, document, place, context);
}

const nothing: ReadManifests = {
  manifests: [],
  faults: [],
  unidentified: false,
  misread: false,
  isLayer: false,
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

function foreignAt(position: Position): ReadManifests {
  return { ...nothing, foreign: [position] };
}

function readList(
  list: Record<string, unknown>,
  items: readonly unknown[],
  document: YamlDocument,
  context: ReadingContext,
): ReadManifests {
  const place = new DocumentPlace(document);
  const faults: SourceFault[] = [];
  const read = items.map((item: unknown, at): ReadManifests => {
    const inner = new DocumentPlace(document, ['items', `${at}`]);
    if (isMap(item) && item.kind === 'List') {
      const fault = inner.fault(['kind'], 'nested-list', 'a List cannot hold another List');
      return { ...nothing, faults: [fault], unidentified: true };
    }
    if (isMap(item) && isForeign(item) && !hidesItself(item)) return foreignAt(inner.start);
    return readOne(item, document, inner, context);
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
    isLayer: read.some((one) => one.isLayer),
    foreign,
    isStore: false,
  };
}

function readOne(
  raw: unknown,
  document: YamlDocument,
  place: DocumentPlace,
  { layers, variables, file }: ReadingContext,
): ReadManifests {
  if (!isMap(raw) || (raw.apiVersion === undefined && raw.kind === undefined)) {
    const fault = isLargeFilePointer(raw) ? largeFile(place.start) : notAManifest(place.start);
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
  if (isLayer(raw)) {
    const fault = misplacedLayer(raw, file, place);
    return { ...nothing, faults: fault === undefined ? [] : [fault], isLayer: true };
  }
  const { isInSpec, faults, ...own } = withVariables(raw, document, place, variables);
  const composed = layers.isEmpty ? own : layers.compose(own, markOf(file), faults);
  const valueFaults = faults.length;
  const manifest = readManifest(composed.value, composed.place, faults);
  return {
    manifests: manifest === undefined ? [] : [manifest],
    faults,
    unidentified: manifest === undefined,
    misread: !isInSpec || faults.length > valueFaults,
    isLayer: false,
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

/** What Git LFS commits in the place of a file. */
function isLargeFilePointer(raw: unknown): boolean {
  return typeof raw === 'string' && raw.startsWith('version https://git-lfs.github.com/spec/');
}

function largeFile(position: Position): SourceFault {
  const message = 'the file is kept by Git LFS, and only a pointer to it is in the commit';
  const fix = 'take manifests out of Git LFS: git lfs untrack, git add --renormalize';
  return { position, code: 'large-file-pointer', message, fix };
}
