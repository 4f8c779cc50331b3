/** Locates the secrets of a secret reference: the credentials for its secret manager. */
import { authSecrets } from '../model/secrets/secret-fields.ts';
import type { SecretLocations } from './secret-values.ts';

export function authSecretLocations(referenceId: string): SecretLocations {
  return { context: `secret_references|${referenceId}|auth_config`, secrets: authSecrets };
}
