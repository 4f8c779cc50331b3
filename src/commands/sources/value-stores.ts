/** Knows where the settings permit secret values to come from and to go to: files, a cluster, a Vault. */
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
import type { OpenSinks } from '../../sync/sinks/sinks.ts';
import { pathRefusal, type VaultGrant } from '../../sync/sinks/vault-grant.ts';
import { VaultSink } from '../../sync/sinks/vault-sink.ts';
import { readVaultValue } from '../../sync/sinks/vault-values.ts';
import { AgeIdentities } from '../../sync/sops/age-identities.ts';
import type { SecretSources, TargetRefusal } from '../../sync/validation/secrets.ts';
import type { VaultLogin } from '../../vault/vault-access.ts';
import { VaultClient } from '../../vault/vault-client.ts';
import { openCluster } from './cluster.ts';

/** Where secret values come from and where those of keys go, as far as the settings permit. */
export interface ValueStores {
  readonly secretsFolder: string;
  readonly sources: SecretSources;
  readonly openSinks: OpenSinks;
}

/** Connects to nothing before a value is asked for. */
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
  message: 'valueFrom.vault needs a Vault, and none is set',
  fix: 'set GATEWRIGHT_VAULT_ADDRESS',
};

/** What may be written is known before anything is: a plan that could not be carried out is none. */
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
  if (vault === null) return { at: 'path', message: 'there is no Vault set', fix: noVault.fix };
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

/** Null where the settings name no Vault. */
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

/** Only what lies in the secrets folder, so that a manifest cannot name any file of this machine. */
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
