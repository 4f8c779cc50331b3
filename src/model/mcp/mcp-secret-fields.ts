/** Knows which members of the configurations of an MCP integration are secrets. */

/** The header maps of the configurations whose values are secrets. */
export const secretHeaderMaps = ['custom_headers', 'headers'] as const;

/** Dotted patterns of all that is secret in the configurations. */
export const mcpSecrets: readonly string[] = [
  ...secretHeaderMaps.map((field) => `${field}.*`),
  'oauth_client_secret',
];
