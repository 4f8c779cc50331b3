/** Reads values from Vault or OpenBao with the login of a secret reference. */
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import { Secret } from '../secret.ts';
import { readFields } from '../vault/any-key-value.ts';
import type { VaultLogin } from '../vault/vault-access.ts';
import { VaultClient, VaultUnreachable } from '../vault/vault-client.ts';
import { SecretUnreadable } from './managed-secret.ts';
import {
  type ManagerContext,
  managerCallLimits,
  requireOwnIdentity,
  requireOwnIdentityAt,
  type SecretManager,
} from './manager.ts';

/** Path of the service account token in a pod. */
const accountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

export function vaultManager(auth: Secret<AuthConfig>, context: ManagerContext): SecretManager {
  const { vault_addr: address, vault_namespace: namespace } = auth.reveal();
  const access = {
    address: new URL(address!),
    namespace: namespace ?? null,
    caFile: null,
    login: loginOf(auth.reveal(), context),
    limits: managerCallLimits,
    createConnector: context.createConnector,
  };
  const client = new VaultClient(access, context.clock, context.pause);
  return {
    read: async (path) => {
      try {
        return await readFields(client, path);
      } catch (error) {
        const isUnavailable = error instanceof VaultUnreachable;
        throw new SecretUnreadable((error as Error).message, isUnavailable, { cause: error });
      }
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

function loginOf(auth: AuthConfig, context: ManagerContext): VaultLogin {
  const { vault_auth_type: type, vault_auth_mount: mount } = auth;
  const origin = 'secret reference';
  switch (type) {
    case 'token':
      return { method: 'token', tokenFile: new Secret(auth.vault_token!, origin) };
    case 'approle': {
      const secretIdFile = new Secret(auth.vault_secret_id!, origin);
      return {
        method: 'appRole',
        mount: mount ?? 'approle',
        roleId: auth.vault_role_id!,
        secretIdFile,
      };
    }
    default:
      requireOwnIdentity(context, 'kubernetes');
      requireOwnIdentityAt(context, new URL(auth.vault_addr!), []);
      return {
        method: 'kubernetes',
        mount: mount ?? 'kubernetes',
        role: auth.vault_role!,
        tokenFile: accountToken,
      };
  }
}
