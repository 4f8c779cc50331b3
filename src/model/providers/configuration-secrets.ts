/** Knows which members of an integration's configurations are secrets. */

/**
 * Dotted patterns of write-only values, answered as `secretMask` of model/mcp-integration.ts. One that
 * is no text is kept as its JSON.
 */
export const configurationSecrets: readonly string[] = [
  'custom_headers.*',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'azure_entra_client_secret',
  'oauth_client_secret',
  'oracle_private_key',
  'oracle_key_passphrase',
  'vertex_service_account_json',
];
