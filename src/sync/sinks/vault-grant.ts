/**
 * Checks which Vault paths the settings permit, and selects the folder of an owner's auxiliary
 * values.
 */

import { Failure } from '../../failure.ts';
import type { SecretPath } from '../../vault/key-value.ts';
import { type VaultClient, VaultUnreachable } from '../../vault/vault-client.ts';
import { type VaultPlace, vaultText } from '../resources/secret-target.ts';
import type { RepeatWriteOptions } from './repeat-write.ts';

/** How the settings permit the use of a Vault. */
export interface VaultGrant {
  /** Connects on first use. @throws Failure when Vault is not accessible */
  readonly connect: () => Promise<VaultClient>;
  /** Paths that manifests may use, including everything below; '' permits a whole mount. */
  readonly paths: readonly SecretPath[];
}

const attemptsMax = 8;

/**
 * Returns the longest permitted path that covers the place, so that everything about it is in one
 * folder.
 */
export function grantOf({ paths }: VaultGrant, place: SecretPath): SecretPath {
  const all = paths.filter((grant) => covers(grant, place));
  return all.toSorted((one, two) => two.path.length - one.path.length)[0]!;
}

/** @throws Failure when the settings do not permit the place */
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
    fix: 'use a path below it, or have this one added to the setting',
  };
}

export function vaultFolderText({ mount, path }: SecretPath): string {
  return path === '' ? mount : `${mount}/${path}`;
}

/** Options of `repeated` for writes to a Vault place. */
export function writing(place: VaultPlace): RepeatWriteOptions {
  return {
    what: vaultText(place),
    attemptsMax,
    isLost: (error) => error instanceof VaultUnreachable,
  };
}
