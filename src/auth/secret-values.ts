/** Knows how write-only values within a document are kept: sealed at rest, masked or fingerprinted outside. */
import type { Fault } from '../model/fault.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import { secretMask } from '../model/mcp-integration.ts';
import { mapPlaces, matchesPattern } from '../model/place-patterns.ts';
import type { Sealer, Unsealer } from './keyring.ts';

type Document = Readonly<Record<string, unknown>>;

/** Where a document with secrets is kept. */
export interface SecretPlaces {
  /** `table|row|column`, and what else leads to the document: the secrets are sealed to it. */
  readonly context: string;
  /** Dotted patterns (model/place-patterns.ts) of what is secret in it. */
  readonly secrets: readonly string[];
}

export interface Sealing<D> {
  readonly document: D;
  /** Masks that stand for nothing stored; paths start at the document. */
  readonly faults: readonly Fault[];
}

/**
 * Seals every secret value; one that is no text is sealed as its JSON. The mask stands for the stored
 * value, and a value that equals the stored one keeps its sealed text, so that sending the same again
 * changes nothing.
 */
export function sealSecrets<D extends Document>(
  sealer: Sealer,
  places: SecretPlaces,
  sent: D,
  stored: Document | null,
): Sealing<D> {
  const faults: Fault[] = [];
  const document = mapSecrets(places, sent, (value, segments, context) => {
    const before = ownText(stored, segments);
    if (value === secretMask) {
      if (before === undefined) {
        faults.push({ path: [...segments], message: 'is the mask of a value that is not stored' });
      }
      return before ?? '';
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const isSame = before !== undefined && sealer.unseal(before, context) === text;
    return isSame ? before : sealer.seal(text, context);
  });
  return { document, faults };
}

/** For answers: the mask has one length, whatever it hides. */
export function maskSecrets<D extends Document>(places: SecretPlaces, stored: D): D {
  return mapSecrets(places, stored, () => secretMask);
}

/** What stands in a spec for a write-only value: equal values have equal fingerprints. */
export interface SecretMark {
  readonly $secret: 'live';
  /** Hex HMAC-SHA256 of the value; '' where none is told. */
  readonly fingerprint: string;
}

/** For the snapshot: proves values unchanged to whoever is given the key, without showing them. */
export function fingerprintSecrets(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  places: SecretPlaces,
  stored: Document,
): Document {
  return mapSecrets(places, stored, (sealed, _, context) =>
    markOf(unsealer, fingerprintKey, String(sealed), context),
  );
}

/** As {@link fingerprintSecrets}, of one sealed value. */
export function markOf(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  sealed: string,
  context: string,
): SecretMark {
  if (fingerprintKey === null) return { $secret: 'live', fingerprint: '' };
  const value = unsealer.unseal(sealed, context);
  return { $secret: 'live', fingerprint: fingerprintOf(fingerprintKey, value) };
}

/** The document with its secrets readable, for whoever sends them where they belong. */
export function openSecrets<D extends Document>(
  unsealer: Unsealer,
  places: SecretPlaces,
  stored: D,
): D {
  return mapSecrets(places, stored, (sealed, _, context) =>
    unsealer.unseal(String(sealed), context),
  );
}

/** A copy in which each secret value is replaced; null and what is not there stay. */
function mapSecrets<D extends Document>(
  { context, secrets }: SecretPlaces,
  document: D,
  replace: (value: unknown, segments: readonly string[], context: string) => unknown,
): D {
  return mapPlaces(document, (value, segments) => {
    if (value === null || !secrets.some((pattern) => matchesPattern(pattern, segments))) {
      return undefined;
    }
    return replace(value, segments, [context, ...segments].join('.'));
  }) as D;
}

function ownText(document: Document | null, segments: readonly string[]): string | undefined {
  const found = segments.reduce<unknown>((value, key) => {
    const isHolder = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return isHolder ? (value as Document)[key] : undefined;
  }, document);
  return typeof found === 'string' ? found : undefined;
}
