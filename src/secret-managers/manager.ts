/** Knows what every secret manager is given, and what is asked of it. */
import type { Clock } from '../clock.ts';
import type { CallLimits } from '../remote/json-exchange.ts';
import type { PoolLimits } from '../remote/pools.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { type ManagedSecret, SecretUnreadable } from './kept-secret.ts';
import type { MachineIdentity } from './machine-identity.ts';

/** One that is signed in to in one way; dispose closes its sockets. */
export interface SecretManager extends AsyncDisposable {
  /** @throws SecretUnreadable */
  read(path: string): Promise<ManagedSecret>;
}

export interface ManagerContext {
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Opens sockets to no address that is not to be called. */
  readonly createConnector: NonNullable<PoolLimits['createConnector']>;
  /** Whether managers may be signed in to as the gateway itself: by its pod or its machine. */
  readonly allowsOwnIdentity: boolean;
  readonly machine: MachineIdentity;
  /** Hosts that the operator trusts. */
  readonly trusted: TrustedHosts;
}

export const connectTimeoutMs = 3_000;

/** A request of a caller waits for it. */
export const managerCallLimits: CallLimits = {
  connectTimeoutMs,
  responseTimeoutMs: 5_000,
  triesMax: 2,
  failFastMs: 2_000,
};

/** @throws SecretUnreadable where the operator does not let references sign in as the gateway. */
export function requireOwnIdentity({ allowsOwnIdentity: mayBeItself }: ManagerContext, kind: string): void {
  if (mayBeItself) return;
  const message = `${kind} signs in as the gateway itself, which GATEWRIGHT_SECRETS_BY_OWN_IDENTITY does not allow`;
  throw new SecretUnreadable(message, false);
}

/**
 * Whoever writes a reference names the address, and could collect there what shows who the gateway is.
 *
 * @throws SecretUnreadable for a host that neither ends as such services do nor is trusted.
 */
export function requireOwnIdentityAt(
  { trusted }: ManagerContext,
  { hostname }: URL,
  endings: readonly string[],
): void {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (endings.some((ending) => host.endsWith(ending))) return;
  if (trusted.some((entry) => entry.covers(host))) return;
  const message = `the gateway does not show who it is to ${host}, which TRUSTED_CUSTOM_HOSTS does not list`;
  throw new SecretUnreadable(message, false);
}
