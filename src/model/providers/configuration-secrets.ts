/** Lists the secret members of an integration's configurations. */

/**
 * Dotted patterns of write-only values, which responses mask (`secretMask` in
 * model/secrets/secret-fields.ts). A value that is not a string is stored as JSON.
 */
export const configurationSecrets: readonly string[] = [
  'custom_headers.*',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'azure_ad_token',
  'azure_entra_client_secret',
  'oauth_client_secret',
  'oracle_private_key',
  'oracle_key_passphrase',
  'vertex_service_account_json',
];
