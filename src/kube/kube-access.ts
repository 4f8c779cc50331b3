/** Knows where the API of a Kubernetes cluster is and who asks it: of a kubeconfig, or of the pod's own account. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { Failure } from '../failure.ts';
import { Secret } from '../secret.ts';

export interface KubeAccess {
  readonly server: URL;
  /** PEM texts; null where the system's authorities count, and where no certificate is shown. */
  readonly ca: string | null;
  readonly certificate: { readonly cert: string; readonly key: Secret } | null;
  readonly serverName: string | null;
  /** Read anew for each request, because Kubernetes replaces it; null where a certificate says who asks. */
  readonly token: () => Secret | null;
}

const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';
/** As every cluster calls itself to its pods, and as its certificate says. */
const ownCluster = 'https://kubernetes.default.svc';

/**
 * @param configFile path of a kubeconfig; null for the account of the pod
 * @throws Failure (invalid input) that names the setting or the field of the kubeconfig
 */
export function readKubeAccess(configFile: string | null, account = accountDirectory): KubeAccess {
  if (configFile !== null) return accessOfConfig(configFile);
  if (!existsSync(account)) {
    throw new Failure(
      'invalidInput',
      'Kubernetes is set to be used, but this is no pod of a cluster with an account: name a kubeconfig in \
GATEWRIGHT_KUBERNETES_CONFIG, or unset GATEWRIGHT_KUBERNETES_NAMESPACES, _STATUS and _LEASE',
    );
  }
  return {
    server: new URL(ownCluster),
    ca: readText(join(account, 'ca.crt'), 'the account of this pod'),
    certificate: null,
    serverName: null,
    token: () => tokenIn(join(account, 'token'), 'the account of this pod'),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function accessOfConfig(path: string): KubeAccess {
  const config = new ConfigFile(path);
  const context = config.named('contexts', config.text(config.root, 'current-context'));
  const cluster = config.named('clusters', config.text(context, 'cluster'));
  const user = config.named('users', config.text(context, 'user'));
  const server = config.text(cluster, 'server') ?? '';
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw config.wrong('the server of its cluster must be an https:// address');
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw config.wrong('insecure-skip-tls-verify is not permitted; give certificate-authority');
  }
  const cert = config.pem(user, 'client-certificate');
  const key = config.pem(user, 'client-key');
  const token = config.tokenOf(user);
  if (token === null && (cert === null || key === null)) {
    throw config.wrong(
      'its user needs token, tokenFile, or client-certificate with client-key; programs (exec) and \
providers (auth-provider) are not run',
    );
  }
  return {
    server: new URL(server),
    ca: config.pem(cluster, 'certificate-authority'),
    certificate:
      cert === null || key === null ? null : { cert, key: new Secret(key, `file:${path}`) },
    serverName: config.text(cluster, 'tls-server-name') ?? null,
    token: token ?? (() => null),
  };
}

class ConfigFile {
  readonly root: Fields;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    const text = readText(path, 'GATEWRIGHT_KUBERNETES_CONFIG');
    try {
      this.root = fieldsOf(parse(text, { logLevel: 'error' }));
    } catch {
      // Its own words might quote a credential.
      throw this.wrong('it is no YAML');
    }
  }

  wrong(message: string): Failure {
    return new Failure('invalidInput', `${this.#path} (GATEWRIGHT_KUBERNETES_CONFIG): ${message}`);
  }

  text(holder: Fields, field: string): string | undefined {
    const value = holder[field];
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  /** `clusters: [{name, cluster: {…}}]` */
  named(list: 'clusters' | 'contexts' | 'users', name: string | undefined): Fields {
    const entries = Array.isArray(this.root[list]) ? this.root[list].map(fieldsOf) : [];
    const found = entries.find((entry) => entry.name === name);
    if (name === undefined || found === undefined) {
      throw this.wrong(`${list} has no entry ${name === undefined ? 'for current-context' : name}`);
    }
    return fieldsOf(found[list.slice(0, -1)]);
  }

  /** The PEM text that stands in `FIELD-data` or in the file that `FIELD` names. */
  pem(holder: Fields, field: string): string | null {
    const data = this.text(holder, `${field}-data`);
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
    const file = this.text(holder, field);
    return file === undefined ? null : readText(this.#near(file), `${field} of ${this.#path}`);
  }

  tokenOf(user: Fields): KubeAccess['token'] | null {
    const file = this.text(user, 'tokenFile');
    if (file !== undefined) return () => tokenIn(this.#near(file), `tokenFile of ${this.#path}`);
    const token = this.text(user, 'token');
    if (token === undefined) return null;
    const secret = new Secret(token, `file:${this.#path}`);
    return () => secret;
  }

  #near(file: string): string {
    return resolve(dirname(this.#path), file);
  }
}

function fieldsOf(value: unknown): Fields {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? (value as Fields) : {};
}

function tokenIn(path: string, what: string): Secret {
  return new Secret(readText(path, what).trim(), `file:${path}`);
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure('invalidInput', `${what}: ${path} cannot be read (${code})`);
  }
}
