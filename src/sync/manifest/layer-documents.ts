/** Reads patches, values and defaults, before the manifests that they go into. */
import { basename, dirname } from 'node:path/posix';
import { kindNames } from '../../model/kinds/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import { EnvironmentValueSet, isValuesFile } from '../overlay/environment-values.ts';
import { type FolderMark, Layers } from '../overlay/layers.ts';
import type { Variables } from '../overlay/substitute.ts';
import type { SourceFault, SourceFile, SourceFiles } from '../source/source-files.ts';
import { isMap, readMap, refuseUnknownKeys } from '../yaml/map-fields.ts';
import { DocumentPlace } from '../yaml/source-place.ts';
import { readDocuments, type YamlDocument } from '../yaml/yaml-document.ts';
import { apiVersion, isForeignHeading } from './document-owner.ts';
import { type EncryptedFiles, sealedOutsideSpec } from './encrypted-files.ts';
import { readManifest } from './manifest.ts';
import { type WithVariables, withVariables } from './variables.ts';

/** The layers of a source. */
export interface ReadLayers {
  readonly layers: Layers;
  readonly variables: Variables;
  /** Each of these faults leaves open what every manifest contains. */
  readonly faults: readonly SourceFault[];
  /** False when the values are invalid; manifests that use them cannot be checked. */
  readonly areValuesKnown: boolean;
}

const defaultsKind = 'Defaults';
const defaultsFileName = /^defaults\.(ya?ml|json)$/i;

/** Reads values and patches of the selected environment, and the defaults of all folders. */
export async function readLayers(
  files: readonly SourceFile[],
  given: Omit<Variables, 'values'>,
  encryptedFiles: EncryptedFiles,
): Promise<ReadLayers> {
  const values = new EnvironmentValueSet(files);
  const areValuesKnown = values.faults.length === 0;
  const reader = new LayerReader({ ...given, values }, encryptedFiles);
  for (const file of areValuesKnown ? files : []) {
    if (mayHoldLayers(file) && !isValuesFile(file)) await reader.readFile(file);
  }
  const faults = [...values.faults, ...reader.faults];
  return { layers: reader.layers, variables: reader.variables, faults, areValuesKnown };
}

/** Returns whether a file may contain layers. */
function mayHoldLayers({ path, inEnvironment }: SourceFile): boolean {
  return inEnvironment !== undefined || defaultsFileName.test(basename(path));
}

/** Like {@link mayHoldLayers}, for a file that could not be read. */
export function mayHideLayers(path: string, { environments = [] }: SourceFiles): boolean {
  const isInside = environments.some((one) => one.isChosen && path.startsWith(one.path));
  return isInside || defaultsFileName.test(basename(path));
}

/** Returns whether a document was meant as a layer, in the right place or not. */
export function isLayer(raw: Readonly<Record<string, unknown>>): boolean {
  return raw.kind === defaultsKind || Object.hasOwn(raw, 'patch');
}

/** Returns a fault for a layer outside the places where layers are read; else undefined. */
export function misplacedLayer(
  raw: Readonly<Record<string, unknown>>,
  file: SourceFile,
  place: DocumentPlace,
): SourceFault | undefined {
  if (raw.kind === defaultsKind) {
    if (defaultsFileName.test(basename(file.path))) return undefined;
    const fix = 'move it to the file defaults.yaml of the folder that it is for';
    return place.fault(['kind'], 'misplaced', 'Defaults must be in a file of their own', fix);
  }
  if (file.inEnvironment !== undefined) return undefined;
  const fix = 'move it to environments/NAME/ of the source, which --env NAME chooses';
  return place.fault(['patch'], 'misplaced', 'a patch must be in an environment', fix);
}

export function folderMarkOf({ path, location = 0 }: SourceFile): FolderMark {
  const folder = dirname(path);
  return { location, folder: folder === '.' ? '' : folder };
}

class LayerReader {
  readonly layers: Layers;
  readonly variables: Variables;
  readonly faults: SourceFault[] = [];

  readonly #encryptedFiles: EncryptedFiles;

  constructor(variables: Variables, encryptedFiles: EncryptedFiles) {
    this.variables = variables;
    this.layers = new Layers(variables.values.budget);
    this.#encryptedFiles = encryptedFiles;
  }

  /**
   * Text that is not YAML, or cannot be decrypted, is reported where the file is read for its
   * manifests.
   */
  async readFile(file: SourceFile): Promise<void> {
    const { documents: written } = readDocuments(file, isForeignHeading);
    const { documents, fault } = await this.#encryptedFiles.unseal(file, written);
    for (const document of fault === undefined ? documents : []) {
      const { value } = document;
      const isList = isMap(value) && value.kind === 'List' && Array.isArray(value.items);
      if (!isList) this.#take(value, file, document, new DocumentPlace(document));
      else {
        (value.items as unknown[]).forEach((item, at) => {
          this.#take(item, file, document, new DocumentPlace(document, ['items', `${at}`]));
        });
      }
    }
  }

  #take(raw: unknown, file: SourceFile, document: YamlDocument, place: DocumentPlace): void {
    if (!isMap(raw) || !isLayer(raw) || misplacedLayer(raw, file, place) !== undefined) return;
    if (document.isEncrypted === true && sealedOutsideSpec(raw) !== undefined) return;
    const layer = withVariables(raw, document, place, this.variables);
    if (layer.faults.length > 0) this.faults.push(...layer.faults);
    else if (raw.kind === defaultsKind) this.#takeDefaults(layer, folderMarkOf(file));
    else this.#takePatch(layer);
  }

  #takeDefaults(defaults: WithVariables, mark: FolderMark): void {
    const { value, place, faults } = defaults;
    refuseUnknownKeys(value, [], ['apiVersion', 'kind', 'spec'], place, faults);
    if (value.apiVersion !== apiVersion) {
      const fix = `write apiVersion: ${apiVersion}`;
      faults.push(place.fault(['apiVersion'], 'api-version', 'this apiVersion is not known', fix));
    }
    const spec = readMap(value, 'spec', [], place, faults);
    for (const name of Object.keys(spec)) {
      const kind = kindNames.find((known) => known === name);
      if (kind === undefined) {
        const fix = didYouMean(name, kindNames) ?? `kinds are ${kindNames.join(', ')}`;
        const position = place.at(['spec', name], 'key');
        const message = `the kind "${name}" is not known`;
        faults.push({ position, code: 'unknown-kind', message, fix });
      } else if (isMap(spec[name])) {
        const twin = this.layers.addDefaults(mark, kind, defaults);
        if (twin !== undefined) faults.push(twin);
      } else {
        const message = `the defaults for ${name} must be a map, as its spec is`;
        faults.push(place.fault(['spec', name], 'wrong-type', message));
      }
    }
    this.faults.push(...faults);
  }

  #takePatch(layer: WithVariables): void {
    const { value, place, faults } = layer;
    const { patch, ...envelope } = value;
    if (patch !== true) {
      faults.push(place.fault(['patch'], 'wrong-value', 'patch must be true', 'write patch: true'));
    }
    // Null removes a value, so it is not checked.
    readManifest({ ...envelope, metadata: withoutNulls(envelope.metadata) }, place, faults);
    const twin = faults.length > 0 ? undefined : this.layers.addPatch(layer);
    this.faults.push(...faults, ...(twin === undefined ? [] : [twin]));
  }
}

function withoutNulls(value: unknown): unknown {
  if (!isMap(value)) return value;
  const given = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(given.map(([key, inner]) => [key, withoutNulls(inner)]));
}
