/** Knows the secret managers that values are read from: signed in to by what a reference says, kept for the next value. */
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { AuthConfig, ManagerType } from '../model/secrets/secret-manager.ts';
import type { Secret } from '../secret.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { createGuardedConnect, type Resolve } from '../upstream/guarded-connect.ts';
import { awsManager } from './aws-manager.ts';
import { azureManager } from './azure-manager.ts';
import type { ManagedSecret } from './kept-secret.ts';
import { MachineIdentity } from './machine-identity.ts';
import { connectTimeoutMs, type ManagerContext, type SecretManager } from './manager.ts';
import { vaultManager } from './vault-manager.ts';

/** Where a value lies. */
export interface SecretPlace {
  /** Of what says so. */
  readonly id: string;
  readonly organisationId: string;
  /** Of what it says of the manager and the place, and of nothing else. */
  readonly mark: string;
  readonly managerType: ManagerType;
  readonly auth: Secret<AuthConfig>;
  readonly path: string;
}

export interface SecretManagersOptions {
  readonly trusted: TrustedHosts;
  readonly clock: Clock;
  /** Whether managers may be signed in to as the gateway itself: by its pod or its machine. */
  readonly mayBeItself: boolean;
  /** A value that was read. */
  readonly onRead: (place: Pick<SecretPlace, 'id' | 'organisationId'>) => void;
  /** Where the machine is told who it is. */
  readonly metadata?: URL | undefined;
  /** That of the system when absent. */
  readonly resolve?: Resolve | undefined;
}

/** Of AWS, Azure and others alike. */
const metadataUsual = new URL('http://169.254.169.254');
const openMax = 1_000;

/** Dispose closes their sockets. */
export class SecretManagers implements AsyncDisposable {
  readonly #means: ManagerContext;
  readonly #onRead: SecretManagersOptions['onRead'];
  readonly #open = new Map<string, SecretManager>();

  constructor(options: SecretManagersOptions) {
    const { trusted, clock, mayBeItself, resolve, metadata = metadataUsual } = options;
    this.#onRead = options.onRead;
    this.#means = {
      ...{ clock, allowsOwnIdentity: mayBeItself, trusted, machine: new MachineIdentity(metadata) },
      pause: async (ms) => setTimeout(ms),
      createConnector: (origin) => createGuardedConnect(origin, { trusted, connectTimeoutMs, resolve }),
    };
  }

  /** @throws SecretUnreadable */
  async read(place: SecretPlace): Promise<ManagedSecret> {
    const kept = await this.#at(place).read(place.path);
    this.#onRead(place);
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.values()].map((one) => one[Symbol.asyncDispose]()));
  }

  #at({ id, mark, managerType, auth }: SecretPlace): SecretManager {
    const key = `${id} ${mark}`;
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const opened = makers[managerType](auth, this.#means);
    this.#open.set(key, opened);
    if (this.#open.size > openMax) {
      const [first] = this.#open;
      this.#open.delete(first![0]);
      Promise.resolve(first![1][Symbol.asyncDispose]()).catch(() => undefined);
    }
    return opened;
  }
}

const makers: Readonly<
  Record<ManagerType, (auth: Secret<AuthConfig>, means: ManagerContext) => SecretManager>
> = {
  aws_sm: awsManager,
  azure_kv: azureManager,
  hashicorp_vault: vaultManager,
};
