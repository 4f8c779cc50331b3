/** Knows where the secrets of a secret reference are kept: what a secret manager is signed in to with. */
import { authSecrets } from '../model/secret-fields.ts';
import type { SecretPlaces } from './secret-values.ts';

export function authPlaces(referenceId: string): SecretPlaces {
  return { context: `secret_references|${referenceId}|auth_config`, secrets: authSecrets };
}
