/** Checks which stored secrets of an MCP integration an update may keep. */

import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import {
  clientSecretEndpoints,
  clientSecretFields,
  secretHeaderMaps,
} from '../../model/mcp/mcp-secret-fields.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import { readSigningKey } from '../../model/services/signing-key.ts';
import type { Fault } from '../../model/wire/fault.ts';

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

/** The same for the secrets of the OAuth client, which are for one token endpoint of one server. */
export function retainedClientSecretFaults(
  sent: McpConfigurations | null | undefined,
  stored: SealedConfigurations | null,
  isOtherServer: boolean,
): Fault[] {
  return clientSecretFields
    .filter((field) => stored?.[field] !== undefined)
    .filter((field) => sent === undefined || sent?.[field] === secretMask)
    .flatMap((field) => {
      const endpoint = clientSecretEndpoints[field];
      const isOtherEndpoint = sent !== undefined && sent?.[endpoint] !== stored?.[endpoint];
      if (!(isOtherServer || isOtherEndpoint)) return [];
      const what = isOtherServer ? 'url changes to another origin' : `${endpoint} changes`;
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
