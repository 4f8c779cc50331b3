/** Defines secret managers and the context that all of them use. */
import type { Clock } from '../clock.ts';
import type { CallLimits } from '../remote/json-exchange.ts';
import type { PoolLimits } from '../remote/pools.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import type { MachineIdentity } from './machine-identity.ts';
import { type ManagedSecret, SecretUnreadable } from './managed-secret.ts';

/** A manager with one login; dispose closes its sockets. */
export interface SecretManager extends AsyncDisposable {
  /** @throws SecretUnreadable */
  read(path: string): Promise<ManagedSecret>;
}

export interface ManagerContext {
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Refuses connections to forbidden addresses. */
  readonly createConnector: NonNullable<PoolLimits['createConnector']>;
  /** Whether managers may be accessed with the identity of the gateway: its pod or its machine. */
  readonly allowsOwnIdentity: boolean;
  readonly machine: MachineIdentity;
  /** Hosts that the operator trusts. */
  readonly trusted: TrustedHosts;
}

export const connectTimeoutMs = 3_000;

/** Short, because requests of callers wait for the value. */
export const managerCallLimits: CallLimits = {
  connectTimeoutMs,
  responseTimeoutMs: 5_000,
  triesMax: 2,
  failFastMs: 2_000,
};

/** @throws SecretUnreadable when the operator does not let references use the identity of the gateway */
export function requireOwnIdentity({ allowsOwnIdentity }: ManagerContext, kind: string): void {
  if (allowsOwnIdentity) return;
  const message = `${kind} uses the identity of the gateway, which GATEWRIGHT_SECRETS_BY_OWN_IDENTITY does not allow`;
  throw new SecretUnreadable(message, false);
}

/**
 * The author of a reference chooses the address, and could collect credentials of the gateway there.
 *
 * @throws SecretUnreadable for a host outside the domains of the service that is not trusted
 */
export function requireOwnIdentityAt(
  { trusted }: ManagerContext,
  { hostname }: URL,
  endings: readonly string[],
): void {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (endings.some((ending) => host.endsWith(ending))) return;
  if (trusted.some((entry) => entry.covers(host))) return;
  const message = `the gateway does not send its identity to ${host}, which TRUSTED_CUSTOM_HOSTS does not list`;
  throw new SecretUnreadable(message, false);
}
