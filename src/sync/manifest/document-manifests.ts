/** Reads the manifests of a document, a single one or a List, with their layers applied. */

import type { Position } from '../resources/resource-set.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import type { SourceFault, SourceFile } from '../source/source-files.ts';
import { isMap, refuseUnknownKeys } from '../yaml/map-fields.ts';
import { DocumentPlace } from '../yaml/source-place.ts';
import type { YamlDocument } from '../yaml/yaml-document.ts';
import { apiVersion, isForeignDocument } from './document-owner.ts';
import { sealedOutsideSpec } from './encrypted-files.ts';
import { folderMarkOf, isLayer, misplacedLayer, type ReadLayers } from './layer-documents.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { withVariables } from './variables.ts';

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly faults: readonly SourceFault[];
  /** A part has no readable identity, so references to it cannot be checked. */
  readonly unidentified: boolean;
  /** The workspace of a part may be unclear. */
  readonly misread: boolean;
  /** The document contains layers and no manifests. */
  readonly isLayer: boolean;
  /** Positions of documents of other programs, which are left alone. */
  readonly foreign: readonly Position[];
  /** It contains encrypted values for manifests to name, and declares nothing. */
  readonly isStore: boolean;
}

/** The file of a document and the layers that apply to it. */
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
  if (isForeignDocument(value) && !(isList && value.apiVersion === 'v1') && !hidesItself(value)) {
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

/** Returns whether the fields that would identify the document are encrypted. */
function hidesItself(value: unknown): boolean {
  return isMap(value) && [value.apiVersion, value.kind].some((it) => it instanceof SealedValue);
}

/** An encrypted file of values for manifests to name; it declares nothing. */
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
    if (isMap(item) && isForeignDocument(item) && !hidesItself(item)) return foreignAt(inner.start);
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
    const message = `${sealed.join('.')} is encrypted, so it is unclear what this declares`;
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
  const composed = layers.isEmpty ? own : layers.compose(own, folderMarkOf(file), faults);
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

/** Returns the workspaces that otherwise unreadable documents name. */
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
  return { position, code: 'not-a-manifest', message: 'this is not a manifest', fix };
}

/** The placeholder that Git LFS commits instead of a file. */
function isLargeFilePointer(raw: unknown): boolean {
  return typeof raw === 'string' && raw.startsWith('version https://git-lfs.github.com/spec/');
}

function largeFile(position: Position): SourceFault {
  const message = 'the file is stored in Git LFS, and the commit contains only a pointer to it';
  const fix = 'take manifests out of Git LFS: git lfs untrack, git add --renormalize';
  return { position, code: 'large-file-pointer', message, fix };
}
