/** Seals, masks and opens the secrets in config documents. */
import type { ConfigDocument } from '../model/configs/config.ts';
import {
  type ConfigPath,
  configPathKey,
  isParameterSecret,
  mapConfigSecrets,
  secretDestinations,
} from '../model/configs/config-secrets.ts';
import { pairTargets } from '../model/configs/target-pairs.ts';
import { secretMask } from '../model/secrets/secret-fields.ts';
import type { Fault } from '../model/wire/fault.ts';
import type { Sealer, Unsealer } from './keyring.ts';
import { fingerprintMark } from './secret-values.ts';

/** Stored form of a secret. A text is a secret that was stored before secrets were sealed. */
interface SealedSecret {
  readonly $sealed: string;
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

/** Versions of a config share its context, so that each contains the same sealed text. */
function contextOf(configId: string, path: ConfigPath): string {
  return [`configs|${configId}|config`, ...path].join('.');
}

/** A document to store, or why a mask in it stands for nothing. Paths start at the document. */
interface SealedConfig {
  readonly document: ConfigDocument;
  readonly faults: readonly Fault[];
}

/** Whether a document that is sent contains a secret, a mask of one, or the stored form. */
export function hasConfigSecrets(sent: ConfigDocument): boolean {
  let hasSecrets = false;
  mapConfigSecrets(sent, (value) => {
    hasSecrets ||= isStoredSecret(value);
    return undefined;
  });
  return hasSecrets;
}

/**
 * Seals every secret of a document that is sent. The mask stands for the stored secret at the same path,
 * or of the same target at another path, while each place to which it is sent is one that it had;
 * otherwise it is a fault. An equal secret keeps its sealed text, so that repeating a request changes
 * nothing.
 */
export function sealConfigSecrets(
  sealer: Sealer,
  configId: string,
  sent: ConfigDocument,
  stored: ConfigDocument | null,
): SealedConfig {
  const before = storedSecrets(stored);
  const storedPathOf = pairTargets(sent, maskConfigSecrets(stored ?? {}));
  const known = stored === null ? new Map() : secretDestinations(stored, isStoredSecret);
  const wanted = secretDestinations(sent, isText);
  const faults: Fault[] = [];
  const document = mapConfigSecrets(sent, (value, path) => {
    if (isSealed(value)) faults.push({ path: faultPath(path), message: 'must be text' });
    if (!isText(value)) return undefined;
    const storedPath = storedPathOf(path);
    const storedKey = configPathKey(storedPath);
    const current = before.get(storedKey);
    const opened = isStoredSecret(current)
      ? openedText(sealer, configId, current, storedPath)
      : undefined;
    if (value === secretMask) {
      const message = maskFault(opened, wanted.get(configPathKey(path)), known.get(storedKey));
      if (message !== null) faults.push({ path: faultPath(path), message });
    }
    const text = value === secretMask && isText(opened) ? opened : value;
    const isUnchanged = isSealed(current) && opened === text && storedKey === configPathKey(path);
    return isUnchanged ? current : { $sealed: sealer.seal(text, contextOf(configId, path)) };
  });
  return { document, faults };
}

/** Faults have numbers as indexes. */
function faultPath(path: ConfigPath): Fault['path'] {
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

function storedSecrets(stored: ConfigDocument | null): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  mapConfigSecrets(stored ?? {}, (value, path) => {
    found.set(configPathKey(path), value);
    return undefined;
  });
  return found;
}

/** Seals what an older version stored as text; returns the same document when it contains none. */
export function sealPlainConfigSecrets(
  sealer: Sealer,
  configId: string,
  stored: ConfigDocument,
): ConfigDocument {
  return mapConfigSecrets(stored, (value, path) =>
    isText(value) ? { $sealed: sealer.seal(value, contextOf(configId, path)) } : undefined,
  );
}

/** For responses; the mask has the same length for every secret. */
export function maskConfigSecrets(stored: ConfigDocument): ConfigDocument {
  return mapConfigSecrets(stored, (value) => (isStoredSecret(value) ? secretMask : undefined));
}

/** For the snapshot: equal secrets have equal fingerprints. */
export function fingerprintConfigSecrets(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  configId: string,
  stored: ConfigDocument,
): ConfigDocument {
  return mapConfigSecrets(stored, (value, path) => {
    if (!isStoredSecret(value)) return undefined;
    const plain = { unseal: () => openedText(unsealer, configId, value, path) };
    return fingerprintMark(plain, fingerprintKey, '', '');
  });
}

/** A document with its secrets in plain text, for the gateway. */
interface OpenedConfig {
  readonly document: ConfigDocument;
  /** Whether secrets are among the parameters, which are sent wherever a target leads. */
  readonly hasParameterSecrets: boolean;
}

export function openConfigSecrets(
  unsealer: Unsealer,
  configId: string,
  stored: ConfigDocument,
): OpenedConfig {
  let hasParameterSecrets = false;
  const document = mapConfigSecrets(stored, (value, path) => {
    if (!isStoredSecret(value)) return undefined;
    hasParameterSecrets ||= isParameterSecret(path);
    return openedText(unsealer, configId, value, path);
  });
  return { document, hasParameterSecrets };
}

function openedText(
  unsealer: Unsealer,
  configId: string,
  value: unknown,
  path: ConfigPath,
): string {
  return isSealed(value)
    ? unsealer.unseal(value.$sealed, contextOf(configId, path))
    : String(value);
}
