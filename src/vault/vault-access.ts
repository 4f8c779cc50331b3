/** Knows where a Vault is and who asks it: files of a token, an account of Kubernetes or an AppRole, read when they are used. */
import { readFileSync } from 'node:fs';
import { Failure } from '../failure.ts';
import type { CallLimits } from '../remote/json-exchange.ts';
import type { PoolLimits } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { Secret } from '../secret.ts';

/** Path of a file, which is read anew for each sign-in, because agents replace it, or what would be in it. */
type CredentialSource = string | Secret;

/** How this program signs in. */
export type VaultLogin<Source extends CredentialSource = CredentialSource> =
  | { readonly method: 'token'; readonly tokenFile: Source }
  | {
      readonly method: 'kubernetes';
      readonly mount: string;
      readonly role: string;
      /** Of the account of the pod. */
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
  /** Of Vault Enterprise and OpenBao; null for the root. */
  readonly namespace: string | null;
  /** PEM file of the authorities that count; null for those of the system. */
  readonly caFile: string | null;
  readonly login: VaultLogin;
  /** By which it is reached; none when absent. */
  readonly proxies?: Proxies | null;
  /** How long it is waited for; as long as is usual when absent. */
  readonly limits?: CallLimits;
  readonly createConnector?: PoolLimits['createConnector'];
}

/** @throws Failure (invalid input) that names setting and file, never what is in it */
export function readCredential(path: CredentialSource, setting: string): Secret {
  if (path instanceof Secret) return path;
  const text = readSettingFile(path, setting).trim();
  if (text === '') throw new Failure('invalidInput', `${setting}: ${path} is empty`);
  return new Secret(text, `file:${path}`);
}

/** @throws Failure (invalid input) that names setting and file */
export function readSettingFile(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure('invalidInput', `${setting}: ${path} cannot be read (${code})`);
  }
}
