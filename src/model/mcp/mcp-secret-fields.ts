/** Lists the secret members of an MCP integration's configurations. */
import type { MappingTargets } from '../secrets/secret-mapping.ts';

/** The header maps of the configurations whose values are secrets. */
export const secretHeaderMaps = ['custom_headers', 'headers'] as const;

/** Secrets of OAuth clients, each with the member that names the only endpoint at which it is used. */
export const clientSecretEndpoints = {
  oauth_client_secret: 'oauth_token_endpoint',
  oauth_private_key: 'oauth_token_endpoint',
  oauth_idp_client_secret: 'oauth_idp_token_endpoint',
} as const;

export const clientSecretFields = Object.keys(
  clientSecretEndpoints,
) as (keyof typeof clientSecretEndpoints)[];

/** Dotted patterns of all secrets in the configurations. */
export const mcpSecrets: readonly string[] = [
  ...secretHeaderMaps.map((field) => `${field}.*`),
  ...clientSecretFields,
];

/** MCP servers receive values of secret references in headers only. */
export const mcpIntegrationTargets: MappingTargets = {
  fields: new Set(),
  headerMaps: new Set(secretHeaderMaps),
};
