/** Knows how header values of MCP integrations are kept: sealed at rest, masked or fingerprinted outside. */
import type { Sealer, Unsealer } from '../../auth/keyring.ts';
import type { Fault } from '../../model/fault.ts';
import { fingerprintOf } from '../../model/fingerprint.ts';
import {
  type McpConfigurations,
  secretHeaderMaps,
  secretMask,
} from '../../model/mcp-integration.ts';

type HeaderMap = Readonly<Record<string, string>>;

/** Configurations as stored: the values of secret header maps are sealed texts. */
export type SealedConfigurations = McpConfigurations;

export interface Sealing {
  readonly configurations: SealedConfigurations;
  /** Masks that stand for nothing stored; paths start at the configurations. */
  readonly faults: readonly Fault[];
}

/**
 * Seals every secret value. The mask stands for the stored value, and a value that equals the
 * stored one keeps its sealed text, so that sending the same again changes nothing.
 */
export function sealConfigurations(
  sealer: Sealer,
  integrationId: string,
  sent: McpConfigurations,
  stored: SealedConfigurations | null,
): Sealing {
  const faults: Fault[] = [];
  const configurations = withSecretMaps(sent, (field, name, value) => {
    const before = ownValue(stored?.[field], name);
    const place = placeOf(integrationId, field, name);
    if (value === secretMask) {
      if (before === undefined) {
        faults.push({ path: [field, name], message: 'is the mask of a value that is not stored' });
      }
      return before ?? '';
    }
    const same = before !== undefined && sealer.unseal(before, place) === value;
    return same ? before : sealer.seal(value, place);
  });
  return { configurations, faults };
}

/**
 * The stored values that an update would keep, by a mask or by saying nothing of the configurations:
 * none of them may go to another origin than the one they were given for. Paths start at the body.
 */
export function keptSecretFaults(
  sent: McpConfigurations | null | undefined,
  stored: SealedConfigurations | null,
): Fault[] {
  return secretHeaderMaps.flatMap((field) =>
    Object.keys(stored?.[field] ?? {})
      .filter((name) => sent === undefined || ownValue(sent?.[field], name) === secretMask)
      .map((name) => ({
        path: ['configurations', field, name],
        message: 'must be sent again with its value, because url leads to another origin',
      })),
  );
}

/** For answers: the mask has one length, whatever it hides. */
export function maskConfigurations(stored: SealedConfigurations): McpConfigurations {
  return withSecretMaps(stored, () => secretMask);
}

/** What stands in a spec for a write-only value: equal values have equal fingerprints. */
interface SecretMark {
  readonly $secret: 'live';
  /** Hex HMAC-SHA256 of the value; '' where none is told. */
  readonly fingerprint: string;
}

/** For the snapshot: proves a value unchanged to whoever is given the key, without showing it. */
export function fingerprintConfigurations(
  unsealer: Unsealer,
  fingerprintKey: Buffer | null,
  integrationId: string,
  stored: SealedConfigurations,
): Record<string, unknown> {
  return withSecretMaps<SecretMark>(stored, (field, name, sealed) => {
    if (fingerprintKey === null) return { $secret: 'live', fingerprint: '' };
    const value = unsealer.unseal(sealed, placeOf(integrationId, field, name));
    return { $secret: 'live', fingerprint: fingerprintOf(fingerprintKey, value) };
  });
}

function placeOf(integrationId: string, field: string, name: string): string {
  return `mcp_integrations|${integrationId}|configurations.${field}.${name}`;
}

/** A copy in which each value of the secret header maps is replaced. */
function withSecretMaps<Value = string>(
  configurations: McpConfigurations,
  replace: (field: (typeof secretHeaderMaps)[number], name: string, value: string) => Value,
) {
  const replaced = secretHeaderMaps.flatMap((field) => {
    const headers: HeaderMap | undefined = configurations[field];
    if (headers === undefined) return [];
    const entries = Object.entries(headers).map(
      ([name, value]) => [name, replace(field, name, value)] as const,
    );
    return [[field, Object.fromEntries(entries)] as const];
  });
  return { ...configurations, ...Object.fromEntries(replaced) };
}

function ownValue(headers: HeaderMap | undefined, name: string): string | undefined {
  return headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
}
