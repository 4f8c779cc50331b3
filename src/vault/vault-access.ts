/** Defines the address and the login of a Vault; files with credentials are read on use. */
import { readFileSync } from 'node:fs';
import { Failure } from '../failure.ts';
import type { CallLimits } from '../remote/json-exchange.ts';
import type { PoolLimits } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { Secret } from '../secret.ts';

/** Path of a file, which is read for each login because agents replace it, or the credential itself. */
type CredentialSource = string | Secret;

/** Login method. */
export type VaultLogin<Source extends CredentialSource = CredentialSource> =
  | { readonly method: 'token'; readonly tokenFile: Source }
  | {
      readonly method: 'kubernetes';
      readonly mount: string;
      readonly role: string;
      /** Token of the pod's service account. */
      readonly tokenFile: Source;
    }
  | {
      readonly method: 'appRole';
      readonly mount: string;
      readonly roleId: string;
      readonly secretIdFile: Source;
    };

export interface VaultAccess {
  readonly address: URL;
  /** Namespace in Vault Enterprise or OpenBao; null for the root. */
  readonly namespace: string | null;
  /** PEM file of trusted certificate authorities; null for those of the system. */
  readonly caFile: string | null;
  readonly login: VaultLogin;
  /** Default: no proxies. */
  readonly proxies?: Proxies | null;
  readonly limits?: CallLimits;
  readonly createConnector?: PoolLimits['createConnector'];
}

/** @throws Failure (invalid input) that names the setting and the file, never the content */
export function readCredential(path: CredentialSource, setting: string): Secret {
  if (path instanceof Secret) return path;
  const text = readSettingFile(path, setting).trim();
  if (text === '') throw new Failure('invalidInput', `${setting}: ${path} is empty`);
  return new Secret(text, `file:${path}`);
}

/** @throws Failure (invalid input) that names the setting and the file */
export function readSettingFile(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure('invalidInput', `${setting}: ${path} cannot be read (${code})`);
  }
}
