/** Knows how a value is read from a secret of a Vault. */
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import { readSecret } from '../../vault/key-value.ts';
import { VaultUnreachable } from '../../vault/vault-client.ts';
import { type VaultPlace, vaultText } from '../resources/secret-target.ts';
import { pathRefusal, type VaultGrant } from './vault-grant.ts';

/** Undefined where there is no such secret or key; else the value, or why it cannot be told. */
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
    const wrong = `the key ${place.key} of ${place.mount}/${place.path} is no text`;
    return { code: 'secret-refused', message: wrong, fix: 'write it to Vault as text' };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const isOut = error instanceof VaultUnreachable || error.kind === 'unreachable';
    return {
      code: isOut ? 'secret-unreachable' : 'secret-refused',
      message: error.message,
      fix: isOut
        ? 'nothing that needs it is changed until Vault answers'
        : 'permit the policy of gatewright to read it',
    };
  }
}
