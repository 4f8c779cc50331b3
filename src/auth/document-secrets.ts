/** Seals, masks and opens the secrets in documents that contain other values too, such as configs. */
import { pathIdentifier } from '../model/manifests/path-patterns.ts';
import { secretMask } from '../model/secrets/secret-fields.ts';
import type { Fault } from '../model/wire/fault.ts';
import type { Sealer, Unsealer } from './keyring.ts';
import { fingerprintMark } from './secret-values.ts';

/** Keys of a document that lead to a value; indexes are decimal numbers. */
type DocumentPath = readonly string[];

/** Places to which each secret of a document is sent, by the `pathIdentifier` of the secret. */
type Destinations = ReadonlyMap<string, ReadonlySet<string>>;

/** Locates the secrets of one kind of document. Only texts are secrets. */
interface DocumentForm<D> {
  /** `table|id|column`; secrets are sealed to it and to their path. */
  readonly contextOf: (id: string) => string;
  /** Copies a document with each value replaced that is at the path of a secret; `undefined` keeps it. */
  readonly map: (document: D, replace: (value: unknown, path: DocumentPath) => unknown) => D;
  readonly destinations: (document: D, isSecretValue: (value: unknown) => boolean) => Destinations;
  /** Converts paths of a sent document to paths of the stored one, whose secrets are masked. */
  readonly pair: (sent: D, masked: D) => (path: DocumentPath) => DocumentPath;
  /** A document without secrets. */
  readonly empty: D;
}

/** Stored form of a secret. A text is a secret that was stored before secrets were sealed. */
interface SealedSecret {
  readonly $sealed: string;
}

/** A document to store, or why a mask in it stands for nothing. Paths start at the document. */
interface SealedDocument<D> {
  readonly document: D;
  readonly faults: readonly Fault[];
}

export class DocumentSecrets<D> {
  readonly #form: DocumentForm<D>;

  constructor(form: DocumentForm<D>) {
    this.#form = form;
  }

  /** Whether a document that is sent contains a secret, a mask of one, or the stored form. */
  isIn(sent: D): boolean {
    let hasSecrets = false;
    this.#form.map(sent, (value) => {
      hasSecrets ||= isStoredSecret(value);
      return undefined;
    });
    return hasSecrets;
  }

  /**
   * Seals every secret of a document that is sent. The mask stands for the stored secret at the same path,
   * or of the same item at another path, while each place to which it is sent is one that it had;
   * otherwise it is a fault. An equal secret keeps its sealed text, so that repeating a request changes
   * nothing.
   */
  seal(sealer: Sealer, id: string, sent: D, stored: D | null): SealedDocument<D> {
    const form = this.#form;
    const before = this.#storedIn(stored);
    const storedPathOf = form.pair(sent, this.mask(stored ?? form.empty));
    const known = stored === null ? new Map() : form.destinations(stored, isStoredSecret);
    const wanted = form.destinations(sent, isText);
    const faults: Fault[] = [];
    const document = form.map(sent, (value, path) => {
      if (isSealed(value)) faults.push({ path: faultPath(path), message: 'must be text' });
      if (!isText(value)) return undefined;
      const storedPath = storedPathOf(path);
      const storedKey = pathIdentifier(storedPath);
      const current = before.get(storedKey);
      const opened = isStoredSecret(current)
        ? this.#openedText(sealer, id, current, storedPath)
        : undefined;
      if (value === secretMask) {
        const message = maskFault(opened, wanted.get(pathIdentifier(path)), known.get(storedKey));
        if (message !== null) faults.push({ path: faultPath(path), message });
      }
      const text = value === secretMask && isText(opened) ? opened : value;
      const isUnchanged =
        isSealed(current) && opened === text && storedKey === pathIdentifier(path);
      return isUnchanged ? current : this.#sealed(sealer, id, text, path);
    });
    return { document, faults };
  }

  /** Seals what an older version stored as text; returns the same document when it contains none. */
  sealPlain(sealer: Sealer, id: string, stored: D): D {
    return this.#form.map(stored, (value, path) =>
      isText(value) ? this.#sealed(sealer, id, value, path) : undefined,
    );
  }

  /** For responses; the mask has the same length for every secret. */
  mask(stored: D): D {
    return this.#form.map(stored, (value) => (isStoredSecret(value) ? secretMask : undefined));
  }

  /** For the snapshot: equal secrets have equal fingerprints. */
  fingerprint(unsealer: Unsealer, fingerprintKey: Buffer | null, id: string, stored: D): D {
    return this.#form.map(stored, (value, path) => {
      if (!isStoredSecret(value)) return undefined;
      const plain = { unseal: () => this.#openedText(unsealer, id, value, path) };
      return fingerprintMark(plain, fingerprintKey, '', '');
    });
  }

  /**
   * Returns the document with its secrets in plain text, for the gateway.
   *
   * @param onSecret receives the path of each secret
   */
  open(
    unsealer: Unsealer,
    id: string,
    stored: D,
    onSecret: (path: DocumentPath) => void = () => undefined,
  ): D {
    return this.#form.map(stored, (value, path) => {
      if (!isStoredSecret(value)) return undefined;
      onSecret(path);
      return this.#openedText(unsealer, id, value, path);
    });
  }

  #storedIn(stored: D | null): ReadonlyMap<string, unknown> {
    const found = new Map<string, unknown>();
    this.#form.map(stored ?? this.#form.empty, (value, path) => {
      found.set(pathIdentifier(path), value);
      return undefined;
    });
    return found;
  }

  #sealed(sealer: Sealer, id: string, text: string, path: DocumentPath): SealedSecret {
    return { $sealed: sealer.seal(text, this.#contextOf(id, path)) };
  }

  #openedText(unsealer: Unsealer, id: string, value: unknown, path: DocumentPath): string {
    return isSealed(value)
      ? unsealer.unseal(value.$sealed, this.#contextOf(id, path))
      : String(value);
  }

  /** Versions of a resource share its context, so that each contains the same sealed text. */
  #contextOf(id: string, path: DocumentPath): string {
    return [this.#form.contextOf(id), ...path].join('.');
  }
}

function isSealed(value: unknown): value is SealedSecret {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<SealedSecret>).$sealed === 'string' &&
    Object.keys(value).length === 1
  );
}

const isText = (value: unknown): value is string => typeof value === 'string';

const isStoredSecret = (value: unknown): boolean => isSealed(value) || isText(value);

/** Faults have numbers as indexes. */
function faultPath(path: DocumentPath): Fault['path'] {
  return path.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

type Places = ReadonlySet<string> | undefined;

function maskFault(stored: unknown, wanted: Places, known: Places): string | null {
  if (!isText(stored)) return 'is a mask, but no value is stored';
  if ((wanted ?? new Set()).isSubsetOf(known ?? new Set())) return null;
  return (
    'must be sent again with its value, because a target or check that uses it ' +
    'has another provider, custom_host or address'
  );
}
