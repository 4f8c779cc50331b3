/** Lists the secret members of an MCP integration's configurations. */
import type { MappingTargets } from '../secrets/secret-mapping.ts';

/** The header maps of the configurations whose values are secrets. */
export const secretHeaderMaps = ['custom_headers', 'headers'] as const;

/** Secrets of OAuth clients, each with the members that decide at which endpoint it is used. */
export const clientSecretEndpoints = {
  oauth_client_secret: ['oauth_token_endpoint', 'oauth_issuer'],
  oauth_private_key: ['oauth_token_endpoint', 'oauth_issuer'],
  oauth_idp_client_secret: ['oauth_idp_token_endpoint'],
} as const;

export const clientSecretFields = Object.keys(
  clientSecretEndpoints,
) as (keyof typeof clientSecretEndpoints)[];

/** Dotted patterns of all secrets in the configurations. */
export const mcpSecrets: readonly string[] = [
  ...secretHeaderMaps.map((field) => `${field}.*`),
  ...clientSecretFields,
];

/** Whether a secret mapping fills a secret of an OAuth client; the others fill headers. */
export function isClientSecret([name, header]: readonly string[]): boolean {
  return header === undefined && clientSecretFields.some((field) => field === name);
}

/** Values of secret references are sent in headers, and as secrets of OAuth clients. */
export const mcpIntegrationTargets: MappingTargets = {
  fields: new Set(clientSecretFields),
  headerMaps: new Set(secretHeaderMaps),
};
