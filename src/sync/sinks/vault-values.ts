/** Reads a value from a Vault secret. */
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import { readSecret } from '../../vault/key-value.ts';
import { VaultUnreachable } from '../../vault/vault-client.ts';
import { type VaultPlace, vaultText } from '../resources/secret-target.ts';
import { pathRefusal, type VaultGrant } from './vault-grant.ts';

/** Returns undefined when secret or key do not exist; else the value, or why it cannot be read. */
export async function readVaultValue(
  grant: VaultGrant,
  place: VaultPlace,
): Promise<
  Secret | undefined | { readonly code: string; readonly message: string; readonly fix: string }
> {
  const refusal = pathRefusal(grant, place);
  if (refusal !== null) return { code: 'secret-refused', ...refusal };
  try {
    const value = (await readSecret(await grant.connect(), place))?.data[place.key];
    if (value === undefined || typeof value === 'string') {
      return value === undefined ? undefined : new Secret(value, vaultText(place));
    }
    const wrong = `the key ${place.key} of ${place.mount}/${place.path} is not a string`;
    return { code: 'secret-refused', message: wrong, fix: 'store it in Vault as a string' };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const isOut = error instanceof VaultUnreachable || error.kind === 'unreachable';
    return {
      code: isOut ? 'secret-unreachable' : 'secret-refused',
      message: error.message,
      fix: isOut
        ? 'resources that need it are not changed until Vault responds'
        : 'permit the policy of gatewright to read it',
    };
  }
}
