/** Knows which members of a secret reference's auth config are secrets, and how answers name their masks. */

/** Write-only values, of which answers show a mask under the same name after {@link maskedPrefix}. */
export const authSecrets: readonly string[] = [
  ...['aws_access_key_id', 'aws_secret_access_key', 'aws_external_id'],
  ...['azure_entra_client_secret', 'vault_token', 'vault_secret_id'],
];

export const maskedPrefix = 'masked_';
