/** Seals, masks and opens the keys in config documents. */
import type { ConfigDocument } from '../model/configs/config.ts';
import { keyDestinations, mapConfigKeys } from '../model/configs/config-keys.ts';
import { secretMask } from '../model/mcp/mcp-integration.ts';
import type { Fault } from '../model/wire/fault.ts';
import type { Sealer, Unsealer } from './keyring.ts';
import { fingerprintMark } from './secret-values.ts';

/** Stored form of a key. A text is a key that was stored before keys were sealed. */
interface SealedKey {
  readonly $sealed: string;
}

/** Versions of a config share its context, so that a version holds the same sealed text. */
const contextOf = (configId: string, path: readonly (string | number)[]): string =>
  [`configs|${configId}|config`, ...path].join('.');

const isSealed = (value: unknown): value is SealedKey =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, '$sealed');

/**
 * Seals every key. The mask stands for the stored key of the same place while each destination of the
 * key is one that the stored key already has; otherwise it is a fault. An equal key keeps its sealed
 * text, and a stored plain text is sealed.
 */
export function sealConfigKeys(
  sealer: Sealer,
  configId: string,
  sent: ConfigDocument,
  stored: ConfigDocument | null,
): { readonly document: ConfigDocument; readonly faults: readonly Fault[] } {
  const before = new Map<string, unknown>();
  if (stored !== null) {
    mapConfigKeys(stored, (value, path) => {
      before.set(JSON.stringify(path), value);
      return value;
    });
  }
  const allowed = stored === null ? new Map<string, Set<string>>() : keyDestinations(stored);
  const wanted = keyDestinations(sent);
  const faults: Fault[] = [];
  const document = mapConfigKeys(sent, (value, path) => {
    const place = JSON.stringify(path);
    const context = contextOf(configId, path);
    const current = before.get(place);
    const storedKey = isSealed(current) ? sealer.unseal(current.$sealed, context) : current;
    if (value === secretMask) {
      if (typeof storedKey !== 'string') {
        faults.push({ path: [...path], message: 'is a mask, but no value is stored' });
      } else if (!wanted.get(place)!.isSubsetOf(allowed.get(place)!)) {
        const message =
          'must be sent again, because a target that uses it has another provider, custom_host or account';
        faults.push({ path: [...path], message });
      }
    }
    const text = value === secretMask ? storedKey : value;
    if (isSealed(current) && storedKey === text) return current;
    return { $sealed: sealer.seal(String(text), context) };
  });
  return { document, faults };
}

/** For responses; the mask has the same length for every key. */
export function maskConfigKeys(stored: ConfigDocument): ConfigDocument {
  return mapConfigKeys(stored, () => secretMask);
}

/** For the snapshot. */
export function fingerprintConfigKeys(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  configId: string,
  stored: ConfigDocument,
): ConfigDocument {
  return mapConfigKeys(stored, (value, path) => {
    const source = isSealed(value) ? unsealer : { unseal: (text: string) => text };
    const text = isSealed(value) ? value.$sealed : String(value);
    return fingerprintMark(source, fingerprintKey, text, contextOf(configId, path));
  });
}

/** Returns the document with its keys in plain text. */
export function openConfigKeys(
  unsealer: Unsealer,
  configId: string,
  stored: ConfigDocument,
): ConfigDocument {
  return mapConfigKeys(stored, (value, path) =>
    isSealed(value) ? unsealer.unseal(value.$sealed, contextOf(configId, path)) : value,
  );
}
