/** Creates the reading of account values from secret managers. */
import type { Clock } from '../../clock.ts';
import {
  SecretManagers,
  type SecretManagersOptions,
} from '../../secret-managers/secret-managers.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { MappedSecrets } from './mapped-secrets.ts';
import { SecretValueCache } from './secret-value-cache.ts';

export interface ManagedSecretsOptions {
  readonly trustedHosts: TrustedHosts;
  readonly clock: Clock;
  /** Whether the gateway may use its own identity at secret managers. */
  readonly mayBeItself: boolean;
  /** Reports a secret that was read. */
  readonly onSecretRead: SecretManagersOptions['onRead'];
  /** Reports a secret that could not be read, even if a cached value replaces it. */
  readonly onSecretFailure: (error: unknown, referenceId: string) => void;
}

/** The caller disposes of `managers`. */
export function managedSecrets({
  trustedHosts: trusted,
  clock,
  mayBeItself,
  onSecretRead: onRead,
  onSecretFailure,
}: ManagedSecretsOptions) {
  const managers = new SecretManagers({ trusted, clock, allowsOwnIdentity: mayBeItself, onRead });
  const onFailure = (error: unknown, { id }: { readonly id: string }) => onSecretFailure(error, id);
  const values = new SecretValueCache({ managers, clock, onFailure });
  return { managers, values, secrets: new MappedSecrets(values) };
}
