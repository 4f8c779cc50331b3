/** Loads the cluster and the credentials from a kubeconfig or from the service account of the pod. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { Cluster, User } from '@kubernetes/client-node/dist/config_types.js';
import { load } from 'js-yaml';
import { Failure } from '../failure.ts';

const accountDirectory = 'var/run/secrets/kubernetes.io/serviceaccount';
/** The name under which every cluster's API is reachable from its pods. */
const serviceAddress = 'https://kubernetes.default.svc';

/**
 * @param file path of a kubeconfig; null for the service account of this pod
 * @param root file system root of the pod; tests replace it
 * @throws Failure (invalid input) that names the setting or the field of the kubeconfig
 */
export function loadKubeConfig(file: string | null, root = '/'): KubeConfig {
  return file === null ? podConfig(root) : new ConfigFile(file).config;
}

function podConfig(root: string): KubeConfig {
  if (!existsSync(join(root, accountDirectory))) {
    throw new Failure(
      'invalidInput',
      'Kubernetes is configured, but this process runs in no pod with a service account: name a kubeconfig in \
GATEWRIGHT_KUBERNETES_CONFIG, or unset GATEWRIGHT_KUBERNETES_NAMESPACES, _STATUS and _LEASE',
    );
  }
  const config = new KubeConfig();
  config.loadFromCluster(root.replace(/\/$/, ''));
  // The library takes the address from KUBERNETES_SERVICE_HOST without a check that it is set.
  if (
    new URL(config.getCurrentCluster()!.server.replace(/:undefined$/, '')).hostname === 'undefined'
  ) {
    config.clusters = config.clusters.map((cluster) => ({ ...cluster, server: serviceAddress }));
  }
  return config;
}

/** Adds what the library's kubeconfig reader lacks: `tokenFile`, relative login programs, and the checks. */
class ConfigFile {
  readonly config = new KubeConfig();
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    const text = readText(path, 'GATEWRIGHT_KUBERNETES_CONFIG');
    const tokenFiles = this.#load(text);
    const context = this.#required('context', this.config.currentContext, (name) =>
      this.config.getContextObject(name),
    );
    const cluster = this.#required('cluster', context.cluster, (name) =>
      this.config.getCluster(name),
    );
    const user = this.#required('user', context.user, (name) => this.config.getUser(name));
    this.#checkCluster(cluster);
    const completed = this.#complete(user, tokenFiles.get(context.user));
    this.config.users = [completed];
    this.#checkUser(completed);
  }

  /** Returns the `tokenFile` of each user, which the library ignores. */
  #load(text: string): Map<unknown, string> {
    try {
      this.config.loadFromString(text, { onInvalidEntry: 'filter' });
      this.config.makePathsAbsolute(dirname(this.#path));
      const { users } = load(text) as {
        users?: { name?: unknown; user?: { tokenFile?: string } }[];
      };
      return new Map(
        (users ?? []).flatMap(({ name, user }) =>
          user?.tokenFile === undefined ? [] : [[name, user.tokenFile]],
        ),
      );
    } catch {
      // The parser's message might quote a credential.
      throw this.#fault('it is not a kubeconfig in YAML');
    }
  }

  #required<T>(kind: string, name: string | undefined, find: (name: string) => T | null): T {
    const entry = name ? find(name) : null;
    if (entry !== null) return entry;
    throw this.#fault(`${kind}s has no entry ${name ? name : 'for current-context'}`);
  }

  #checkCluster({ server, skipTLSVerify, caFile, proxyUrl }: Cluster): void {
    if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
      throw this.#fault('the server of its cluster must be an https:// address');
    }
    if (skipTLSVerify) {
      throw this.#fault('insecure-skip-tls-verify is not permitted; give certificate-authority');
    }
    if (proxyUrl && !/^https?:\/\//.test(proxyUrl)) {
      throw this.#fault('proxy-url must be an http:// or https:// address');
    }
    if (caFile) readText(caFile, `certificate-authority of ${this.#path}`);
  }

  /** Paths become absolute; a login program receives the variable that the exec protocol defines. */
  #complete(user: User, tokenFile: string | undefined): User {
    // The library runs these logins in a blocking shell; Kubernetes 1.26 has replaced them by `exec`.
    if (user.authProvider) throw this.#fault('auth-provider is not supported; use exec');
    if (tokenFile !== undefined && !user.token) {
      const config = { tokenFile: this.#absolute(tokenFile) };
      return { ...user, authProvider: { name: 'tokenFile', config } };
    }
    const { exec } = user as { exec?: ExecLogin | null };
    if (!exec) return user;
    const { command = '', apiVersion, env } = exec;
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
    return {
      ...user,
      exec: {
        ...exec,
        command: command.includes('/') ? this.#absolute(command) : command,
        env: [{ name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }, ...(env ?? [])],
      },
    };
  }

  #checkUser(user: User): void {
    const { certFile, certData, keyFile, keyData } = user;
    if (certFile && !certData) readText(certFile, `client-certificate of ${this.#path}`);
    if (keyFile && !keyData) readText(keyFile, `client-key of ${this.#path}`);
    const hasCertificate = Boolean((certFile || certData) && (keyFile || keyData));
    if (hasCertificate || user.token || user.username || user.exec || user.authProvider) return;
    throw this.#fault(
      'its user needs token, tokenFile, exec, or client-certificate with client-key',
    );
  }

  #absolute(path: string): string {
    return resolve(dirname(this.#path), path);
  }

  #fault(message: string): Failure {
    return new Failure('invalidInput', `${this.#path} (GATEWRIGHT_KUBERNETES_CONFIG): ${message}`);
  }
}

/** The `exec` entry of a user, see the documentation of client-go credential plugins. */
interface ExecLogin {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
}

function readText(path: string, origin: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure('invalidInput', `${origin}: ${path} cannot be read (${code})`);
  }
}
