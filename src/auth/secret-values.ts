/**
 * Handles write-only values in a document: seals them for storage, masks or fingerprints them in output.
 */

import { fingerprintOf } from '../model/manifests/fingerprint.ts';
import { matchesPattern, replaceValues } from '../model/manifests/path-patterns.ts';
import { secretMask } from '../model/secrets/secret-fields.ts';
import type { Fault } from '../model/wire/fault.ts';
import type { Sealer, Unsealer } from './keyring.ts';

type Document = Readonly<Record<string, unknown>>;

/** Locates the secrets of a stored document. */
export interface SecretLocations {
  /** `table|row|column`, plus the path to the document; the secrets are sealed to it. */
  readonly context: string;
  /** Dotted patterns (model/manifests/path-patterns.ts) of the secret fields. */
  readonly secrets: readonly string[];
}

export interface SealedDocument<D> {
  readonly document: D;
  /** Masks without a stored value; paths start at the document. */
  readonly faults: readonly Fault[];
}

/**
 * Seals every secret value; a value that is not a string is sealed as JSON. The mask stands for the
 * stored value. A value equal to the stored one keeps its sealed text, so that repeating a request
 * changes nothing.
 */
export function sealSecrets<D extends Document>(
  sealer: Sealer,
  places: SecretLocations,
  sent: D,
  stored: Document | null,
): SealedDocument<D> {
  const faults: Fault[] = [];
  const document = mapSecrets(places, sent, (value, segments, context) => {
    const before = storedText(stored, segments);
    if (value === secretMask) {
      if (before === undefined) {
        faults.push({ path: [...segments], message: 'is a mask, but no value is stored' });
      }
      return before ?? '';
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const isSame = before !== undefined && sealer.unseal(before, context) === text;
    return isSame ? before : sealer.seal(text, context);
  });
  return { document, faults };
}

/**
 * Paths of stored secrets that an update keeps: by the mask, or all of them by not sending the document.
 * A document that is sent replaces the stored one.
 */
export function retainedSecretPaths(
  places: SecretLocations,
  stored: Document | null,
  sent: Document | null | undefined,
): string[][] {
  if (stored === null || sent === null) return [];
  const paths: string[][] = [];
  mapSecrets(places, sent ?? stored, (value, segments) => {
    if (sent === undefined || value === secretMask) paths.push([...segments]);
    return value;
  });
  return paths;
}

/** For responses; the mask has the same length for every value. */
export function maskSecrets<D extends Document>(places: SecretLocations, stored: D): D {
  return mapSecrets(places, stored, () => secretMask);
}

/** Placeholder of a write-only value in a spec: equal values have equal fingerprints. */
export interface SecretMark {
  readonly $secret: 'live';
  /** Hex HMAC-SHA256 of the value; empty without a fingerprint key. */
  readonly fingerprint: string;
}

/** For the snapshot: lets a holder of the key check values for changes without seeing them. */
export function fingerprintSecrets(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  places: SecretLocations,
  stored: Document,
): Document {
  return mapSecrets(places, stored, (sealed, _, context) =>
    fingerprintMark(unsealer, fingerprintKey, String(sealed), context),
  );
}

/** Like {@link fingerprintSecrets}, for one sealed value. */
export function fingerprintMark(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  sealed: string,
  context: string,
): SecretMark {
  if (fingerprintKey === null) return { $secret: 'live', fingerprint: '' };
  const value = unsealer.unseal(sealed, context);
  return { $secret: 'live', fingerprint: fingerprintOf(fingerprintKey, value) };
}

/** Returns the document with its secrets in plain text. */
export function openSecrets<D extends Document>(
  unsealer: Unsealer,
  places: SecretLocations,
  stored: D,
): D {
  return mapSecrets(places, stored, (sealed, _, context) =>
    unsealer.unseal(String(sealed), context),
  );
}

/** Copies the document with each secret value replaced; null and absent values stay. */
function mapSecrets<D extends Document>(
  { context, secrets }: SecretLocations,
  document: D,
  replace: (value: unknown, segments: readonly string[], context: string) => unknown,
): D {
  return replaceValues(document, (value, segments) => {
    if (value === null || !secrets.some((pattern) => matchesPattern(pattern, segments))) {
      return undefined;
    }
    return replace(value, segments, [context, ...segments].join('.'));
  }) as D;
}

function storedText(document: Document | null, segments: readonly string[]): string | undefined {
  const found = segments.reduce<unknown>((value, key) => {
    const isHolder = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return isHolder ? (value as Document)[key] : undefined;
  }, document);
  return typeof found === 'string' ? found : undefined;
}
