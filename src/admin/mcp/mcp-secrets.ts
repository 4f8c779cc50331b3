/** Knows which values of MCP integrations are secrets, and which of them an update may keep. */

import { type McpConfigurations, secretMask } from '../../model/mcp/mcp-integration.ts';
import { secretHeaderMaps } from '../../model/mcp/mcp-secret-fields.ts';
import type { Fault } from '../../model/wire/fault.ts';

/** Configurations as stored: the values of secret header maps are sealed texts. */
export type SealedConfigurations = McpConfigurations;

/**
 * The stored values of headers that an update would keep, by a mask or by saying nothing of the
 * configurations: none of them may go to another origin than the one they were given for. Paths start
 * at the body.
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

/** The same of the secret of the OAuth client, which is for one token endpoint of one server. */
export function keptClientSecretFaults(
  sent: McpConfigurations | null | undefined,
  stored: SealedConfigurations | null,
  isOtherServer: boolean,
): Fault[] {
  if (stored?.oauth_client_secret === undefined) return [];
  const isKept = sent === undefined || sent?.oauth_client_secret === secretMask;
  const endpointOf = (one: McpConfigurations | null | undefined) => one?.oauth_token_endpoint;
  const isOtherEndpoint = sent !== undefined && endpointOf(sent) !== endpointOf(stored);
  if (!isKept || !(isOtherServer || isOtherEndpoint)) return [];
  const what = isOtherServer ? 'url leads to another origin' : 'oauth_token_endpoint is another';
  const message = `must be sent again with its value, because ${what}`;
  return [{ path: ['configurations', 'oauth_client_secret'], message }];
}

function ownValue(
  headers: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined {
  return headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
}
