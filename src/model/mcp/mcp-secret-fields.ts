/** Lists the secret members of an MCP integration's configurations. */
import type { MappingTargets } from '../secrets/secret-mapping.ts';

/** The header maps of the configurations whose values are secrets. */
export const secretHeaderMaps = ['custom_headers', 'headers'] as const;

/** Secrets of the OAuth client, which are sent to or used at its token endpoint only. */
export const clientSecretFields = ['oauth_client_secret', 'oauth_private_key'] as const;

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
