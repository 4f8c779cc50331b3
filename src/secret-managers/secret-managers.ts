/** Reads values from secret managers with the login of each reference, and reuses open managers. */
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { AuthConfig, ManagerType } from '../model/secrets/secret-manager.ts';
import type { Secret } from '../secret.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { createGuardedConnect, type Resolve } from '../upstream/guarded-connect.ts';
import { awsManager } from './aws-manager.ts';
import { azureManager } from './azure-manager.ts';
import { MachineIdentity } from './machine-identity.ts';
import type { ManagedSecret } from './managed-secret.ts';
import { connectTimeoutMs, type ManagerContext, type SecretManager } from './manager.ts';
import { vaultManager } from './vault-manager.ts';

/** Location of a value. */
export interface SecretLocation {
  /** Id of the secret reference. */
  readonly id: string;
  readonly organisationId: string;
  /** Changes with the manager or the location in the reference. */
  readonly mark: string;
  readonly managerType: ManagerType;
  readonly auth: Secret<AuthConfig>;
  readonly path: string;
}

export interface SecretManagersOptions {
  readonly trusted: TrustedHosts;
  readonly clock: Clock;
  /** Whether managers may be accessed with the identity of the gateway: its pod or its machine. */
  readonly allowsOwnIdentity: boolean;
  /** Called after each read. */
  readonly onRead: (place: Pick<SecretLocation, 'id' | 'organisationId'>) => void;
  /** Address of the metadata service. */
  readonly metadata?: URL | undefined;
  /** Default: the resolver of the system. */
  readonly resolve?: Resolve | undefined;
}

/** Metadata address of AWS, Azure and others. */
export const metadataDefault = new URL('http://169.254.169.254');
const openMax = 1_000;

/** Dispose closes the sockets of all open managers. */
export class SecretManagers implements AsyncDisposable {
  readonly #context: ManagerContext;
  readonly #onRead: SecretManagersOptions['onRead'];
  readonly #open = new Map<string, SecretManager>();

  constructor(options: SecretManagersOptions) {
    const { trusted, clock, allowsOwnIdentity, resolve, metadata = metadataDefault } = options;
    this.#onRead = options.onRead;
    this.#context = {
      clock,
      allowsOwnIdentity,
      trusted,
      machine: new MachineIdentity(metadata),
      pause: async (ms) => setTimeout(ms),
      createConnector: (origin) =>
        createGuardedConnect(origin, { trusted, connectTimeoutMs, resolve }),
    };
  }

  /** @throws SecretUnreadable */
  async read(place: SecretLocation): Promise<ManagedSecret> {
    const secret = await this.#managerOf(place).read(place.path);
    this.#onRead(place);
    return secret;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.values()].map((manager) => manager[Symbol.asyncDispose]()));
  }

  #managerOf({ id, mark, managerType, auth }: SecretLocation): SecretManager {
    const key = `${id} ${mark}`;
    const existing = this.#open.get(key);
    if (existing !== undefined) return existing;
    const opened = constructors[managerType](auth, this.#context);
    this.#open.set(key, opened);
    if (this.#open.size > openMax) {
      const [first] = this.#open;
      this.#open.delete(first![0]);
      Promise.resolve(first![1][Symbol.asyncDispose]()).catch(() => undefined);
    }
    return opened;
  }
}

const constructors: Readonly<
  Record<ManagerType, (auth: Secret<AuthConfig>, context: ManagerContext) => SecretManager>
> = {
  aws_sm: awsManager,
  azure_kv: azureManager,
  hashicorp_vault: vaultManager,
};
