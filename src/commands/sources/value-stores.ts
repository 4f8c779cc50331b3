/** Opens the stores that the settings grant for reading and writing secret values: files, cluster, Vault. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../clock.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import { Secret } from '../../secret.ts';
import { environmentIn } from '../../settings/reading/environment.ts';
import { manifestVariables } from '../../settings/reading/manifest-variables.ts';
import type { Settings } from '../../settings.ts';
import type { SecretTarget } from '../../sync/resources/secret-target.ts';
import { KubernetesSink } from '../../sync/sinks/kubernetes-sink.ts';
import { type KubernetesGrant, namespaceRefusal } from '../../sync/sinks/kubernetes-store.ts';
import { readKubernetesValue } from '../../sync/sinks/kubernetes-values.ts';
import type { OpenSinks } from '../../sync/sinks/sink-set.ts';
import { pathRefusal, type VaultGrant } from '../../sync/sinks/vault-grant.ts';
import { VaultSink } from '../../sync/sinks/vault-sink.ts';
import { readVaultValue } from '../../sync/sinks/vault-values.ts';
import { AgeIdentities } from '../../sync/sops/age-identities.ts';
import type { SecretSources, TargetRefusal } from '../../sync/validation/secrets.ts';
import type { VaultLogin } from '../../vault/vault-access.ts';
import { VaultClient } from '../../vault/vault-client.ts';
import { openCluster } from './cluster.ts';

/** Sources of secret values and sinks of key values, as granted by the settings. */
export interface ValueStores {
  readonly secretsFolder: string;
  readonly sources: SecretSources;
  readonly openSinks: OpenSinks;
}

/** Connects only when a value is read or written. */
export function valueStoresIn(
  cwd: string,
  secretsFolder: string,
  { sync, proxies }: Pick<Settings, 'sync' | 'proxies'>,
): ValueStores {
  const kubernetes = kubernetesGrant(cwd, sync.kubernetes);
  const vault = vaultGrantIn(cwd, sync.vault, proxies);
  const isGranted = kubernetes.namespaces.length > 0;
  return {
    secretsFolder,
    sources: {
      environment: manifestVariables(environmentIn(cwd), sync.variables),
      readValue: async (origin) => {
        if (origin.from === 'file') return readInside(secretsFolder, origin.path);
        if (origin.from !== 'vault') return await readKubernetesValue(kubernetes, origin);
        return vault === null ? noVault : await readVaultValue(vault, origin);
      },
      refuseTarget: (target) => refusalOf(target, kubernetes, vault),
      ageIdentities: sync.ageKey && new AgeIdentities(sync.ageKey),
      requireSecrets: true,
    },
    openSinks: (owner) => ({
      ...(isGranted ? { kubernetesSecret: new KubernetesSink(kubernetes, owner) } : {}),
      ...(vault === null ? {} : { vault: new VaultSink(vault, owner) }),
    }),
  };
}

const noVault = {
  code: 'secret-refused',
  message: 'valueFrom.vault requires a Vault, but none is configured',
  fix: 'set GATEWRIGHT_VAULT_ADDRESS',
};

/** Checked before anything is written, so that a plan that cannot be applied is rejected. */
function refusalOf(
  target: SecretTarget,
  kubernetes: KubernetesGrant,
  vault: VaultGrant | null,
): TargetRefusal | null {
  if (target.sink === 'file') return null;
  if (target.sink === 'kubernetesSecret') {
    const refusal = namespaceRefusal(kubernetes, target.namespace);
    return refusal && { at: 'namespace', ...refusal };
  }
  if (vault === null) return { at: 'path', message: 'no Vault is configured', fix: noVault.fix };
  const refusal = pathRefusal(vault, target);
  return refusal && { at: 'path', ...refusal };
}

function kubernetesGrant(
  cwd: string,
  { namespaces, configFile }: Settings['sync']['kubernetes'],
): KubernetesGrant {
  let client: Promise<KubeClient> | undefined;
  const connect = async (): Promise<KubeClient> => openCluster(cwd, { configFile });
  return { namespaces, connect: () => (client ??= connect()) };
}

/** Null when no Vault is configured. */
function vaultGrantIn(
  cwd: string,
  settings: Settings['sync']['vault'],
  proxies: Settings['proxies'],
): VaultGrant | null {
  if (settings === null) return null;
  const { paths, address, namespace, caFile } = settings;
  const login = loginIn(cwd, settings.login);
  const access = {
    address,
    namespace,
    login,
    proxies,
    caFile: caFile === null ? null : resolve(cwd, caFile),
  };
  let client: VaultClient | undefined;
  return {
    paths,
    connect: async () => (client ??= new VaultClient(access, systemClock, setTimeout)),
  };
}

function loginIn(cwd: string, login: VaultLogin<string>): VaultLogin {
  return login.method === 'appRole'
    ? { ...login, secretIdFile: resolve(cwd, login.secretIdFile) }
    : { ...login, tokenFile: resolve(cwd, login.tokenFile) };
}

const secretBytesMax = 64 * 1024;

/** Reads only inside the secrets folder, so that a manifest cannot read other files of this machine. */
function readInside(folder: string, path: string): Secret | undefined {
  try {
    const root = realpathSync(folder);
    const file = realpathSync(resolve(root, path));
    const facts = statSync(file);
    const isAllowed = file.startsWith(root + sep) && facts.isFile() && facts.size <= secretBytesMax;
    return isAllowed ? new Secret(readFileSync(file, 'utf8'), `file:${path}`) : undefined;
  } catch {
    return undefined;
  }
}
