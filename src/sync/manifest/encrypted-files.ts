/**
 * Opens the files of a source that sops has encrypted: manifests with closed values, and value
 * files.
 */
import { posix } from 'node:path';
import { didYouMean } from '../../suggest.ts';
import { type SopsPlace, sopsText } from '../resources/secret-target.ts';
import type { AgeIdentities } from '../sops/age-identities.ts';
import { looksEncrypted } from '../sops/encrypted-value.ts';
import { SealedValue, sealedKey } from '../sops/sealed-value.ts';
import type { PlacedFault, SopsFile } from '../sops/sops-file.ts';
import { metadataKey } from '../sops/sops-leaves.ts';
import { ignoreFileName, type SourceFault, type SourceFile } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import { DocumentPlace } from '../yaml/source-place.ts';
import { readDocuments, type YamlDocument } from '../yaml/yaml-document.ts';
import { isForeignDocument, isForeignHeading } from './document-owner.ts';
import { keysOfPath } from './field-path.ts';

/** Why a value cannot be used. */
export interface SopsRefusal {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** There is no such file or value, or no identity to decrypt it. */
  readonly isUnset?: boolean | undefined;
}

/** The content of a value file. */
interface OpenedValueFile {
  readonly value: unknown;
  readonly sops: SopsFile;
}

export interface UnsealedDocuments {
  /** Encrypted texts are {@link SealedValue}. */
  readonly documents: readonly YamlDocument[];
  /** Why nothing of the file may be used. */
  readonly fault: PlacedFault | undefined;
}

/**
 * The encrypted files of one source. Each is decrypted once, and only if it has manifests or is
 * named.
 */
export class EncryptedFiles {
  readonly #files: ReadonlyMap<string, SourceFile>;
  readonly #identities: AgeIdentities | undefined;
  readonly #mustOpen: boolean;
  readonly #opened = new Map<string, OpenedValueFile>();

  /** @param mustOpen false for checks without identities */
  constructor(
    files: readonly SourceFile[],
    identities: AgeIdentities | undefined,
    mustOpen: boolean,
  ) {
    this.#files = new Map(files.map((file) => [file.path, file]));
    this.#identities = identities;
    this.#mustOpen = mustOpen;
  }

  /** Returns the documents of a file in the form that manifests use. */
  async unseal(file: SourceFile, documents: readonly YamlDocument[]): Promise<UnsealedDocuments> {
    const metadata = metadataOf(documents);
    if (metadata === undefined) return { documents, fault: undefined };
    // A file that only others read, or that is only named, is not decrypted here.
    const isNeeded = documents.some(({ value }) => mayBeManifest(value));
    const sops: SopsFile = isNeeded ? await this.#open(file, metadata) : { sealed: new Map() };
    return {
      documents: documents.map((document) => ({
        ...document,
        value: unsealed(document.value, sops, document.index, []),
        isEncrypted: true,
      })),
      fault: sops.fault,
    };
  }

  /** Decrypts the file of a value, so that `read` can return it. */
  async open({ file: name }: SopsPlace, fromFile: string): Promise<void> {
    const path = pathFrom(fromFile, name);
    const file = this.#files.get(path);
    if (file === undefined || this.#opened.has(path)) return;
    const { documents } = readDocuments(file, isForeignHeading);
    const metadata = metadataOf(documents);
    if (metadata === undefined) return;
    const value = documents[0]?.value;
    this.#opened.set(path, { value, sops: await this.#open(file, metadata) });
  }

  /** Returns a value of a decrypted file. */
  read({ file, key }: SopsPlace, fromFile: string): SealedValue | SopsRefusal {
    const path = pathFrom(fromFile, file);
    const opened = this.#opened.get(path);
    if (opened === undefined) return this.#notThere(path);
    const { sops, value } = opened;
    const { fault } = sops;
    const keys = keysOfPath(key) ?? [];
    if (fault !== undefined) {
      const message = `${path} cannot be read: ${fault.message}`;
      return { ...fault, message, isUnset: fault.isUnopened };
    }
    const found = sops.sealed.get(sealedKey(0, keys));
    return found ?? notFound(value, keys, path);
  }

  /** Formats the origin of a value for plans. */
  originOf({ file, key }: SopsPlace, fromFile: string): string {
    return sopsText(pathFrom(fromFile, file), key);
  }

  #notThere(path: string): SopsRefusal {
    if (this.#files.has(path)) {
      const message = `${path} is not encrypted by sops`;
      return { code: 'sops-file', message, fix: 'encrypt it: sops encrypt --in-place FILE' };
    }
    const near = didYouMean(path, this.#files.keys());
    const fix = `the path begins at the folder of this file; the source holds .yaml, .yml and .json files that no ${ignoreFileName} names`;
    const message = `the source has no file ${path}`;
    return { code: 'sops-file', message, fix: near ?? fix, isUnset: true };
  }

  async #open(file: SourceFile, metadata: unknown): Promise<SopsFile> {
    // Loaded when needed: few sources are encrypted, and the engine for patterns loads slowly.
    const { openSopsFile } = await import('../sops/sops-file.ts');
    return await openSopsFile({
      path: file.path,
      text: file.content.toString('utf8').replace(/^\uFEFF/, ''),
      metadata,
      identities: this.#identities,
      mustOpen: this.#mustOpen,
    });
  }
}

/** Returns whether sops has encrypted a file. */
export function isEncryptedFile(documents: readonly YamlDocument[]): boolean {
  return metadataOf(documents) !== undefined;
}

/** Returns the sops metadata in the first document; undefined for a plain file. */
function metadataOf(documents: readonly YamlDocument[]): unknown {
  const value = documents[0]?.value;
  if (!isMap(value)) return undefined;
  const metadata = value[metadataKey];
  return isMap(metadata) && 'mac' in metadata ? metadata : undefined;
}

/** Returns whether a document is a manifest, or may be one. */
function mayBeManifest(value: unknown): boolean {
  if (!isMap(value)) return false;
  if (value.kind === 'List' && Array.isArray(value.items)) return value.items.some(mayBeManifest);
  const isHidden = [value.apiVersion, value.kind].some(
    (text) => typeof text === 'string' && looksEncrypted(text),
  );
  return isHidden || !isForeignDocument(value);
}

/**
 * Copies a document without sops metadata, with encrypted values replaced by {@link SealedValue}.
 */
function unsealed(
  value: unknown,
  sops: SopsFile,
  document: number,
  path: readonly string[],
): unknown {
  if (typeof value === 'string') return sops.sealed.get(sealedKey(document, path)) ?? value;
  if (Array.isArray(value)) {
    return value.map((item, at) => unsealed(item, sops, document, [...path, `${at}`]));
  }
  if (!isMap(value)) return value;
  const isTop = path.length === 0;
  const entries = Object.entries(value).filter(([key]) => !isTop || key !== metadataKey);
  return Object.fromEntries(
    entries.map(([key, item]) => [key, unsealed(item, sops, document, [...path, key])]),
  );
}

/** Returns the path of an encrypted value in the part that identifies a manifest. */
export function sealedOutsideSpec(raw: Record<string, unknown>): string[] | undefined {
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

/** Returns the fault of an encrypted file, at its position. */
export function sopsFault(
  { code, message, fix, leaf }: PlacedFault,
  documents: readonly YamlDocument[],
): SourceFault {
  const document = documents.find(({ index }) => index === (leaf?.document ?? 0)) ?? documents[0]!;
  const place = new DocumentPlace(document);
  if (leaf !== undefined) return place.fault(leaf.path, code, message, fix);
  const words = `this encrypted file cannot be used: ${message}`;
  return { position: place.at([metadataKey], 'key'), code, message: words, fix };
}

function pathFrom(fromFile: string, file: string): string {
  return posix.join(posix.dirname(fromFile), file);
}

function notFound(document: unknown, keys: readonly string[], path: string): SopsRefusal {
  let value = document;
  for (const [at, key] of keys.entries()) {
    const holder = value;
    value =
      isMap(holder) && Object.hasOwn(holder, key) && (at > 0 || key !== metadataKey)
        ? holder[key]
        : undefined;
    if (value === undefined) {
      const names = isMap(holder) ? Object.keys(holder).filter((name) => name !== metadataKey) : [];
      const fix =
        didYouMean(key, names) ??
        (names.length > 0
          ? `there are ${names.slice(0, 10).join(', ')}`
          : 'name one with sops edit');
      const message = `${path} has no value ${keys.slice(0, at + 1).join('.')}`;
      return { code: 'sops-key', message, fix, isUnset: true };
    }
  }
  const name = keys.join('.');
  const isMany = typeof value === 'object' && value !== null;
  const message = isMany
    ? `${name} of ${path} is not a single value`
    : `${name} of ${path} is not encrypted`;
  const fix = isMany ? 'name a value in it' : 'encrypt it with sops, or write it into the manifest';
  return { code: 'sops-key', message, fix };
}
