/** Checks which stored secrets of an MCP integration an update may keep. */

import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import {
  clientSecretEndpoints,
  clientSecretFields,
  isClientSecret,
  secretHeaderMaps,
} from '../../model/mcp/mcp-secret-fields.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import { mappedPath, type StoredSecretMapping } from '../../model/secrets/secret-mapping.ts';
import { readSigningKey } from '../../model/services/signing-key.ts';
import type { Fault } from '../../model/wire/fault.ts';
import type { Db } from '../../store/connection/db.ts';
import { requireAllowedHosts } from '../access/secret-mappings.ts';

/** Configurations as stored: secret header values are sealed. */
export type SealedConfigurations = McpConfigurations;

/**
 * Faults for stored header values that an update would keep, by a mask or by not sending the
 * configurations, while the URL moves to another origin. Secrets must not reach another origin than the
 * one they were entered for. Paths start at the body.
 */
export function retainedHeaderFaults(
  sent: McpConfigurations | null | undefined,
  stored: SealedConfigurations | null,
): Fault[] {
  return secretHeaderMaps.flatMap((field) =>
    Object.keys(stored?.[field] ?? {})
      .filter((name) => sent === undefined || ownValue(sent?.[field], name) === secretMask)
      .map((name) => ({
        path: ['configurations', field, name],
        message: 'must be sent again, because url changes to another origin',
      })),
  );
}

/** The same for the secrets of the OAuth client, which are for one authorization server. */
export function retainedClientSecretFaults(
  sent: McpConfigurations | null | undefined,
  stored: SealedConfigurations | null,
  isOtherServer: boolean,
): Fault[] {
  return clientSecretFields
    .filter((field) => stored?.[field] !== undefined)
    .filter((field) => sent === undefined || sent?.[field] === secretMask)
    .flatMap((field) => {
      const other = clientSecretEndpoints[field].find(
        (member) => sent !== undefined && sent?.[member] !== stored?.[member],
      );
      if (!isOtherServer && other === undefined) return [];
      const what = isOtherServer ? 'url changes to another origin' : `${other} changes`;
      const message = `must be sent again, because ${what}`;
      return [{ path: ['configurations', field], message }];
    });
}

/** Faults of a private key that no assertion could be signed with. Paths start at the body. */
export function privateKeyFaults(sent: McpConfigurations | null | undefined): Fault[] {
  const { oauth_private_key: text } = sent ?? {};
  if (text === undefined || text === secretMask) return [];
  const read = readSigningKey(text);
  return 'fault' in read
    ? [{ path: ['configurations', 'oauth_private_key'], message: read.fault }]
    : [];
}

function ownValue(
  headers: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined {
  return headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** Refuses secrets of secret managers that may not be sent where the integration would send them. */
export async function requireSecretHosts(
  tx: Db,
  organisationId: string,
  mappings: readonly StoredSecretMapping[],
  { url, configurations }: SecretPlaces,
): Promise<void> {
  const headers = mappings.filter((one) => !isClientSecret(mappedPath(one.target_field)));
  await requireAllowedHosts(tx, organisationId, headers, [{ path: ['url'], address: url }]);
  for (const field of clientSecretFields) {
    const [member] = clientSecretEndpoints[field];
    // An endpoint that the authorization server names is compared when it is known.
    const address = configurations?.[member];
    if (address === undefined) continue;
    const own = mappings.filter((one) => mappedPath(one.target_field)[0] === field);
    const path = ['configurations', member];
    await requireAllowedHosts(tx, organisationId, own, [{ path, address }]);
  }
}

interface SecretPlaces {
  readonly url: string;
  readonly configurations?: McpConfigurations | null | undefined;
}
