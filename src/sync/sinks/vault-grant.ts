/** Knows what of a Vault the settings permit, and where beside it an owner's own work lies. */

import { Failure } from '../../failure.ts';
import type { SecretPath } from '../../vault/key-value.ts';
import { type VaultClient, VaultUnreachable } from '../../vault/vault-client.ts';
import { type VaultPlace, vaultText } from '../resources/secret-target.ts';
import type { RepeatOptions } from './repeated.ts';

/** How the settings permit a Vault to be used. */
export interface VaultGrant {
  /** Connects when it is first asked for. @throws Failure when that cannot be */
  readonly connect: () => Promise<VaultClient>;
  /** Paths that manifests may name, with all below them; '' for the whole of a mount. */
  readonly paths: readonly SecretPath[];
}

const attemptsMax = 8;

/** The path that says most of a place, so that all about it lies in one folder. */
export function grantOf({ paths }: VaultGrant, place: SecretPath): SecretPath {
  const all = paths.filter((grant) => covers(grant, place));
  return all.toSorted((one, two) => two.path.length - one.path.length)[0]!;
}

/** @throws Failure when the settings do not permit a place */
export function assertGranted(grant: VaultGrant, place: VaultPlace): void {
  const refusal = pathRefusal(grant, place);
  if (refusal !== null) throw new Failure('invalidInput', refusal.message);
}

function covers(grant: SecretPath, { mount, path }: SecretPath): boolean {
  if (grant.mount !== mount) return false;
  return grant.path === '' || path === grant.path || path.startsWith(`${grant.path}/`);
}

/** Null for a place that the settings permit. */
export function pathRefusal(
  { paths }: VaultGrant,
  place: VaultPlace,
): { readonly message: string; readonly fix: string } | null {
  if (paths.some((grant) => covers(grant, place))) return null;
  const named =
    paths.length === 0
      ? 'which is not set'
      : `which names ${paths.map(vaultFolderText).join(', ')}`;
  return {
    message: `${place.mount}/${place.path} is not below GATEWRIGHT_VAULT_PATHS, ${named}`,
    fix: 'name a path that is, or have it added to that setting',
  };
}

export function vaultFolderText({ mount, path }: SecretPath): string {
  return path === '' ? mount : `${mount}/${path}`;
}

/** How a place of Vault is written, for `repeated`. */
export function writing(place: VaultPlace): RepeatOptions {
  return {
    what: vaultText(place),
    attemptsMax,
    isLost: (error) => error instanceof VaultUnreachable,
  };
}
