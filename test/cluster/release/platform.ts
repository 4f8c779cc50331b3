/** Prepares what a release needs in its cluster: a database with TLS, a Git server with a deploy key, volumes, Secrets. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createPki } from '../../support/callers/pki.ts';
import { SigningRoom, type SshSigner } from '../../support/git/git-signers.ts';
import { startSshServer } from '../../support/git/ssh-server.ts';
import { type Cluster, controlPlaneAddress, endpointSlice } from '../kit/cluster.ts';
import { registry } from '../kit/images.ts';

export interface Platform extends AsyncDisposable {
  /** Applies objects in a namespace. */
  apply(namespace: string, ...objects: readonly object[]): Promise<void>;
  /** Runs SQL as root of the database; returns the output without column names. */
  sql(statement: string): Promise<string>;
  /** Creates the namespace of a release with the restricted profile and all objects that the values of the example name. */
  prepare(namespace: string): Promise<void>;
  /** Commits files to the repository of a namespace, signed; returns the id of the commit. */
  commit(namespace: string, files: Readonly<Record<string, string>>): string;
  /** `ssh://…` */
  repositoryUrl(namespace: string): string;
  /** Offers a folder of all nodes, or of one, as a volume for claims of a class; returns the folder. */
  makeVolume(volume: Volume): Promise<string>;
}

interface Volume {
  readonly name: string;
  /** User id of the owner of the folder. */
  readonly user: number;
  readonly node?: string;
  /** Default: the name of the volume. */
  readonly className?: string;
  readonly size?: string;
}

export const databaseHost = 'mysql.databases.svc.cluster.local';
const gitHost = 'git.tools.svc.cluster.local';
const restricted = 'pod-security.kubernetes.io/enforce';

const secret = (name: string, stringData: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
});
const configMap = (name: string, data: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

export async function startPlatform(cluster: Cluster): Promise<Platform> {
  const pki = createPki();
  const signing = new SigningRoom();
  const signer = signing.ssh();
  const git = await startSshServer({ address: controlPlaneAddress, enter: cluster.enter });
  const rootPassword = randomBytes(12).toString('hex');
  const authority = pki.authority('company');
  const urls = new Map<string, string>();

  const apply: Platform['apply'] = async (namespace, ...items) => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await cluster.kubectl(['apply', '--namespace', namespace, '-f', '-'], list);
  };
  const makeNamespace = async (name: string): Promise<void> => {
    const metadata = { name, labels: { [restricted]: 'restricted' } };
    await apply('default', { apiVersion: 'v1', kind: 'Namespace', metadata });
  };
  const sql: Platform['sql'] = async (statement) => {
    const client = ['mariadb', '--batch', '--skip-column-names', '--host=127.0.0.1', '--user=root'];
    const words = ['exec', '--namespace=databases', 'mysql-0', '--', ...client];
    return await cluster.kubectl([...words, `--password=${rootPassword}`, '--execute', statement]);
  };

  await makeNamespace('databases');
  const { cert, key } = authority.issue({ name: databaseHost, altNames: `DNS:${databaseHost}` });
  const tls = { 'tls.crt': cert, 'tls.key': key };
  await apply('databases', secret('mysql', { ...tls, password: rootPassword }), ...database());
  await makeVolume(cluster, { name: 'mysql', user: 999, node: 'node1' });
  await makeNamespace('tools');
  await apply('tools', ...gitService(git.port));
  await apply('default', ...monitoringKinds());
  await cluster.kubectl(
    'rollout status statefulset/mysql --namespace=databases --timeout=10m'.split(' '),
  );
  return {
    apply,
    sql,
    makeVolume: (volume) => makeVolume(cluster, volume),
    repositoryUrl: (namespace) => urls.get(namespace)!,
    prepare: async (namespace) => {
      await makeNamespace(namespace);
      const url = git.repository(namespace);
      urls.set(namespace, url.replace(/@[^/]*/, `@${gitHost}`));
      const [password, owner] = [0, 1].map(() => randomBytes(12).toString('hex'));
      const schema = namespace.replaceAll('-', '_');
      await sql(
        `CREATE DATABASE ${schema} CHARACTER SET utf8mb4;
         CREATE USER ${schema} IDENTIFIED BY '${password}' REQUIRE SSL;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.* TO ${schema};
         CREATE USER ${schema}_owner IDENTIFIED BY '${owner}' REQUIRE SSL;
         GRANT ALL ON ${schema}.* TO ${schema}_owner;`,
      );
      const ca = { 'ca.crt': authority.cert };
      const knownHosts = `${gitHost} ${git.hostKey.publicKey}\n`;
      const deployKey = readFileSync(git.keyFile, 'utf8');
      await apply(
        namespace,
        secret('gatewright-master-key', { 'master-key': randomBytes(32).toString('base64') }),
        secret('gatewright-mysql', { username: schema, password: password! }),
        secret('gatewright-mysql-owner', { username: `${schema}_owner`, password: owner! }),
        secret('gatewright-mysql-tls', ca),
        secret('gatewright-git', { 'ssh-privatekey': deployKey, known_hosts: knownHosts }),
        secret('gatewright-webhook', { 'webhook-secret': randomBytes(24).toString('hex') }),
        configMap('gatewright-signers', { allowed_signers: `test ${signer.publicKey}\n` }),
        configMap('company-ca', ca),
      );
      await makeVolume(cluster, { name: `${namespace}-keys`, user: 65_532 });
      await apply(namespace, claim('gatewright-keys', `${namespace}-keys`));
    },
    commit: (namespace, files) => commit(git.path(`${namespace}.git`), files, signer),
    [Symbol.asyncDispose]: async () => {
      await git[Symbol.asyncDispose]();
      signing[Symbol.dispose]();
      pki[Symbol.dispose]();
    },
  };
}

/** Commits exactly these files to main, signed; returns the id of the commit. */
function commit(
  directory: string,
  files: Readonly<Record<string, string>>,
  { settings }: SshSigner,
): string {
  const identity = ['user.name=test', 'user.email=test@example.com', ...settings];
  const git = (words: readonly string[], input = ''): string =>
    execFileSync(
      'git',
      ['-C', directory, ...identity.flatMap((setting) => ['-c', setting]), ...words],
      {
        input,
        encoding: 'utf8',
      },
    ).trim();
  const rows = Object.entries(files).map(
    ([path, content]) => `100644 blob ${git(['hash-object', '-w', '--stdin'], content)}\t${path}\n`,
  );
  const tree = git(['mktree'], rows.join(''));
  const id = git(['commit-tree', '-S', tree, '-p', 'refs/heads/main', '-m', 'test']);
  git(['update-ref', 'refs/heads/main', id]);
  return id;
}

async function makeVolume(
  cluster: Cluster,
  { name, user, node, className = name, size = '1Gi' }: Volume,
): Promise<string> {
  const path = `/var/lib/volumes/${name}`;
  for (const each of cluster.nodes) {
    await cluster.runOn(each, ['install', '-d', '-o', String(user), '-g', String(user), path]);
  }
  const key = 'kubernetes.io/hostname';
  const nodeAffinity = {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: [node] }] }],
    },
  };
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: size },
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      storageClassName: className,
      hostPath: { path },
      ...(node === undefined ? {} : { nodeAffinity }),
    },
  };
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(volume));
  return path;
}

export function claim(name: string, storageClassName: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      storageClassName,
      accessModes: ['ReadWriteMany'],
      resources: { requests: { storage: '1Gi' } },
    },
  };
}

function database(): object[] {
  const labels = { app: 'mysql' };
  const tls = ['--ssl-cert=/tls/tls.crt', '--ssl-key=/tls/tls.key', '--max-connections=150'];
  const container = {
    name: 'mysql',
    image: `${registry}/library/mariadb:10.11`,
    args: tls,
    env: [{ name: 'MARIADB_ROOT_PASSWORD_FILE', value: '/tls/password' }],
    ports: [{ containerPort: 3306 }],
    resources: { requests: { cpu: '500m' } },
    readinessProbe: { tcpSocket: { port: 3306 }, periodSeconds: 1 },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [
      { name: 'data', mountPath: '/var/lib/mysql' },
      { name: 'tls', mountPath: '/tls' },
    ],
  };
  const ids = { runAsUser: 999, runAsGroup: 999, fsGroup: 999, runAsNonRoot: true };
  const spec = {
    automountServiceAccountToken: false,
    securityContext: { ...ids, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'mysql' } },
      { name: 'tls', secret: { secretName: 'mysql' } },
    ],
  };
  return [
    claim('mysql', 'mysql'),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'mysql' },
      spec: { selector: labels, ports: [{ port: 3306 }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'mysql' },
      spec: {
        serviceName: 'mysql',
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec },
      },
    },
  ];
}

/** The Git server is a process of the first node, not a pod. */
function gitService(port: number): object[] {
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'git' } };
  return [
    { ...service, spec: { ports: [{ name: 'ssh', port: 22, targetPort: port }] } },
    endpointSlice('git', { name: 'git' }, [{ name: 'ssh', port }]),
  ];
}

/** Minimal definitions of the kinds of the Prometheus operator, so that objects can be stored. */
function monitoringKinds(): object[] {
  return [
    ['ServiceMonitor', 'servicemonitors'],
    ['PrometheusRule', 'prometheusrules'],
  ].map(([kind, plural]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  }));
}
