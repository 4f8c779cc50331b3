/** Groups the settings of Git sources. */
import type { Secret } from '../../secret.ts';
import type { secretIn } from '../reading/secrets.ts';
import type { SettingValues } from '../variables/variables.ts';
import { signatureSettings } from './signatures.ts';

/** Credentials and verification of a Git source. */
export interface GitSettings {
  readonly token: Secret | undefined;
  readonly username: string | undefined;
  readonly caFile: string | undefined;
  readonly sshKeyFile: string | undefined;
  readonly knownHostsFile: string | undefined;
  readonly sshAgentSocket: string | undefined;
  /** Objects that must be signed, and the files of accepted keys; undefined for nothing. */
  readonly signatures: ReturnType<typeof signatureSettings>;
}

export function gitSettings(
  values: SettingValues,
  secretOf: ReturnType<typeof secretIn>,
): GitSettings {
  return {
    token: secretOf('GATEWRIGHT_GIT_TOKEN'),
    username: values.GATEWRIGHT_GIT_USERNAME,
    caFile: values.GATEWRIGHT_GIT_CA_FILE,
    sshKeyFile: values.GATEWRIGHT_GIT_SSH_KEY_FILE,
    knownHostsFile: values.GATEWRIGHT_GIT_KNOWN_HOSTS_FILE,
    sshAgentSocket: values.SSH_AUTH_SOCK,
    signatures: signatureSettings(values),
  };
}
