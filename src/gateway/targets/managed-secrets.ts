/** Knows how accounts of providers come to the values that lie in secret managers. */
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
  /** Whether secret managers may be signed in to as the gateway itself. */
  readonly mayBeItself: boolean;
  /** A secret that was read. */
  readonly onSecretRead: SecretManagersOptions['onRead'];
  /** A secret that could not be read, whatever stands in for it. */
  readonly onSecretFailure: (error: unknown, referenceId: string) => void;
}

/** `managers` is to be disposed of. */
export function managedSecrets({
  trustedHosts: trusted,
  clock,
  mayBeItself,
  onSecretRead: onRead,
  onSecretFailure,
}: ManagedSecretsOptions) {
  const managers = new SecretManagers({ trusted, clock, mayBeItself, onRead });
  const onFailure = (error: unknown, { id }: { readonly id: string }) => onSecretFailure(error, id);
  const secrets = new MappedSecrets(new SecretValueCache({ managers, clock, onFailure }));
  return { managers, secrets };
}
