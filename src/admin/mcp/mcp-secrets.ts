/** Checks which stored secrets of an MCP integration an update may keep. */

import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { secretHeaderMaps } from '../../model/mcp/mcp-secret-fields.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
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

/** The same for the OAuth client secret, which is for one token endpoint of one server. */
export function retainedClientSecretFaults(
  sent: McpConfigurations | null | undefined,
  stored: SealedConfigurations | null,
  isOtherServer: boolean,
): Fault[] {
  if (stored?.oauth_client_secret === undefined) return [];
  const isRetained = sent === undefined || sent?.oauth_client_secret === secretMask;
  const endpointOf = (one: McpConfigurations | null | undefined) => one?.oauth_token_endpoint;
  const isOtherEndpoint = sent !== undefined && endpointOf(sent) !== endpointOf(stored);
  if (!isRetained || !(isOtherServer || isOtherEndpoint)) return [];
  const what = isOtherServer ? 'url changes to another origin' : 'oauth_token_endpoint changes';
  const message = `must be sent again, because ${what}`;
  return [{ path: ['configurations', 'oauth_client_secret'], message }];
}

function ownValue(
  headers: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined {
  return headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
}
