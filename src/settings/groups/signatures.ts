/** Groups and validates the settings of signatures, because an incomplete set would verify nothing. */
import type { signedObjects } from '../variables/forms.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

/** Objects that must be signed in a Git source, and the files of accepted keys. */
interface SignatureSettings {
  readonly on: (typeof signedObjects)[number];
  readonly gpgKeysFile: string | undefined;
  readonly allowedSignersFile: string | undefined;
  readonly revokedSignersFile: string | undefined;
}

/** Undefined when nothing has to be signed. */
export function signatureSettings(values: SettingValues): SignatureSettings | undefined {
  const on = values.GATEWRIGHT_GIT_VERIFY;
  if (on === undefined) return undefined;
  return {
    on,
    gpgKeysFile: values.GATEWRIGHT_GIT_GPG_KEYS_FILE,
    allowedSignersFile: values.GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE,
    revokedSignersFile: values.GATEWRIGHT_GIT_REVOKED_SIGNERS_FILE,
  };
}

const keyFiles: readonly SettingName[] = [
  'GATEWRIGHT_GIT_GPG_KEYS_FILE',
  'GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE',
];

/** @param wrong settings with faults that are already reported; unset in `values` */
export function signatureFaults(values: SettingValues, wrong: ReadonlySet<SettingName>): string[] {
  if (wrong.has('GATEWRIGHT_GIT_VERIFY')) return [];
  const isVerified = values.GATEWRIGHT_GIT_VERIFY !== undefined;
  const all: readonly SettingName[] = [...keyFiles, 'GATEWRIGHT_GIT_REVOKED_SIGNERS_FILE'];
  if (!isVerified) {
    return all
      .filter((name) => values[name] !== undefined)
      .map((name) => `${name} is set, but nothing is verified: set GATEWRIGHT_GIT_VERIFY=commit`);
  }
  if (keyFiles.some((name) => values[name] !== undefined || wrong.has(name))) return [];
  return [`GATEWRIGHT_GIT_VERIFY is set, but no key is permitted: set ${keyFiles.join(' or ')}`];
}
