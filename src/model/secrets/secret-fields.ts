/** Lists the secret fields in the auth config of a secret reference, and defines the masks of secrets. */

/** Write-only fields. Responses show a mask under the same name with {@link maskedPrefix} in front. */
export const authSecrets: readonly string[] = [
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_external_id',
  'azure_entra_client_secret',
  'vault_token',
  'vault_secret_id',
];

export const maskedPrefix = 'masked_';

/** Replaces a secret value in every response. A client that sends it keeps the stored value. */
export const secretMask = '********';
