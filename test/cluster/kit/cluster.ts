/** Starts a real Kubernetes cluster with nodes and pods on one machine, and removes it without a trace. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type LeashedProcess, spawnLeashed } from '../../../src/embedded/leash.ts';
import { programs } from './programs.ts';

/** Address of the control plane and of the first node in the network of the cluster. */
export const controlPlaneAddress = '198.19.0.1';
const dnsAddress = '198.18.128.10';
const hierarchies = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'];

/** Returns why this machine cannot run nodes; null when it can. */
export function whyNoCluster(): string | null {
  if (process.platform !== 'linux') return 'this is not Linux';
  if (process.getuid!() !== 0) return 'namespaces, control groups and mounts need root';
  const namespaces = ['--net', '--mount', '--pid', '--fork', 'true'];
  if (spawnSync('unshare', namespaces).status !== 0) return 'namespaces cannot be created here';
  const missing = hierarchies.filter((name) => !existsSync(join('/sys/fs/cgroup', name, 'tasks')));
  return missing.length > 0 ? `no cgroup (version 1) is mounted for ${missing.join(', ')}` : null;
}

interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cluster extends AsyncDisposable {
  readonly nodes: readonly string[];
  /** Runs a program in the network of the first node, with the rights of an administrator. */
  run(words: readonly string[], input?: string): Promise<Outcome>;
  /** Command prefix that runs a program there with the environment of this process. */
  readonly enter: readonly string[];
  /** Runs a program on a node as root. */
  runOn(node: string, words: readonly string[], input?: string): Promise<Outcome>;
  /** Returns the output of kubectl; throws its error output when it fails. */
  kubectl(words: readonly string[], input?: string): Promise<string>;
  /** Imports an archive of images on each node. */
  loadImages(archive: string): Promise<void>;
  /** Kills the API server and prevents its restart. */
  holdApiServer(): Promise<void>;
  /** Restarts the API server; resolves when each node has reconnected. */
  releaseApiServer(): Promise<void>;
  /**
   * Waits until each node routes Services according to the current state of the API server. After a lost
   * connection, a node retries with pauses of up to a minute and routes to old pods meanwhile.
   */
  routesAreCurrent(): Promise<void>;
}

export async function startCluster(nodeCount = 2): Promise<Cluster> {
  removeStale();
  const nodes = Array.from({ length: nodeCount }, (_, index) => `node${index + 1}`);
  const state = mkdtempSync(`/tmp/${prefix}${process.pid}-`);
  const group = state.slice('/tmp/'.length);
  for (const name of ['config', 'live', 'log']) mkdirSync(join(state, name));
  writeIdentities(state, nodes);
  makeGroups(group);
  const output = openSync(join(state, 'log/control-plane.log'), 'a');
  const script = join(import.meta.dirname, 'control-plane.sh');
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const variables = {
    PROGRAMS: programs,
    STATE: state,
    KIT: import.meta.dirname,
    NODES: String(nodeCount),
    CGROUP: group,
  };
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const first = spawnLeashed(
    ['unshare', ...namespaces, '--propagation', 'private', 'env', ...settings, script],
    { cwd: state, output },
  );
  closeSync(output);
  const cluster = open(state, group, first, nodes);
  try {
    await waitUntilReady(cluster, state, first, nodes);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

const prefix = 'gatewright-cluster-';

/** Removes folders and control groups of clusters whose process was killed. */
function removeStale(): void {
  const isStale = (name: string): boolean => {
    const [, pid] = /^gatewright-cluster-(\d+)-/.exec(name) ?? [];
    return pid !== undefined && !existsSync(`/proc/${pid}`);
  };
  for (const name of readdirSync('/tmp').filter(isStale)) {
    removeGroups(name);
    rmSync(join('/tmp', name), { recursive: true, force: true });
  }
}

/** Writes tokens and kubeconfigs for the components of the cluster. */
function writeIdentities(state: string, nodes: readonly string[]): void {
  const config = (name: string): string => join(state, 'config', name);
  execFileSync('openssl', ['genrsa', '-out', config('account.key'), '2048'], { stdio: 'ignore' });
  const groups: Record<string, [user: string, group: string]> = {
    admin: ['admin', 'system:masters'],
    dns: ['coredns', 'system:masters'],
    manager: ['system:kube-controller-manager', ''],
    scheduler: ['system:kube-scheduler', ''],
    proxy: ['system:kube-proxy', ''],
  };
  for (const node of nodes) groups[node] = [`system:node:${node}`, 'system:nodes'];
  const rows = Object.entries(groups).map(([name, [user, group]]) => {
    const token = randomBytes(16).toString('hex');
    const authority = join(state, 'live/pki/apiserver.crt');
    const server = `https://${controlPlaneAddress}:6443`;
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'cluster',
      contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: name } }],
      clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority': authority } }],
      users: [{ name, user: { token } }],
    };
    writeFileSync(config(`${name}.kubeconfig`), JSON.stringify(kubeconfig));
    return `${token},${user},${name},"${group}"`;
  });
  writeFileSync(config('tokens.csv'), `${rows.join('\n')}\n`);
}

function makeGroups(group: string): void {
  const mounted = readdirSync('/sys/fs/cgroup').filter((name) =>
    existsSync(join('/sys/fs/cgroup', name, 'tasks')),
  );
  for (const name of mounted) mkdirSync(join('/sys/fs/cgroup', name, group), { recursive: true });
  // Without more shares, the whole cluster would get as much processor time as one other process.
  writeFileSync(join('/sys/fs/cgroup/cpu', group, 'cpu.shares'), '32768');
  // A new cpuset is empty.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const all = readFileSync(join('/sys/fs/cgroup/cpuset', file));
    writeFileSync(join('/sys/fs/cgroup/cpuset', group, file), all);
  }
}

/** False when a group is still in use. A node agent that is ending may remove groups at the same time. */
function removeGroups(group: string): boolean {
  const remove = (folder: string): boolean => {
    try {
      const within = readdirSync(folder, { withFileTypes: true });
      for (const entry of within) if (entry.isDirectory()) remove(join(folder, entry.name));
      rmdirSync(folder);
      return true;
    } catch {
      return !existsSync(folder);
    }
  };
  return readdirSync('/sys/fs/cgroup')
    .map((name) => join('/sys/fs/cgroup', name, group))
    .filter((folder) => existsSync(folder))
    .map(remove)
    .every(Boolean);
}

function open(
  state: string,
  group: string,
  first: LeashedProcess,
  nodes: readonly string[],
): Cluster {
  const ns = `/proc/${first.pid}/ns`;
  const enter = [
    'nsenter',
    '-t',
    String(first.pid),
    '-n',
    '-m',
    `--pid=${ns}/pid_for_children`,
    '--',
  ];
  const debian = join(programs, 'root');
  const env = {
    HOME: join(state, 'config'),
    KUBECONFIG: join(state, 'config/admin.kubeconfig'),
    LD_LIBRARY_PATH: `${debian}/usr/lib/x86_64-linux-gnu:${debian}/lib/x86_64-linux-gnu`,
    PATH: `${programs}/bin:${debian}/usr/bin:${debian}/usr/sbin:${process.env.PATH}`,
  };
  const run: Cluster['run'] = (words, input = '') => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const options = { env, maxBuffer: 2 ** 28 };
    const child = execFile(
      'nsenter',
      [...enter.slice(1), ...words],
      options,
      (error, stdout, stderr) =>
        resolve({ exitCode: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
    child.stdin!.on('error', () => undefined);
    child.stdin!.end(input);
    return promise;
  };
  const kubectl: Cluster['kubectl'] = async (words, input) => {
    const { exitCode, stdout, stderr } = await run(['kubectl', ...words], input);
    if (exitCode !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
    return stdout;
  };
  const runOn: Cluster['runOn'] = async (node, words, input) => {
    const pid = readFileSync(join(state, `${node}.pid`), 'utf8').trim();
    return await run(['nsenter', '-t', pid, '-n', '-m', '--', ...words], input);
  };
  const routesAreCurrent = async (): Promise<void> => {
    // A Service that appears only after both watches of a node, Services and endpoints, have caught up.
    markers += 1;
    const marker = unroutedService(`marker-${markers}`, markers);
    await kubectl(['apply', '--validate=false', '-f', '-'], JSON.stringify(marker.objects));
    for (const node of nodes) {
      const hasRoute = async (): Promise<boolean> =>
        (await runOn(node, ['iptables-save', '-t', 'nat'])).stdout.includes(marker.destination);
      while (!(await hasRoute())) await setTimeout(100);
    }
  };
  return {
    nodes,
    enter,
    run,
    kubectl,
    runOn,
    routesAreCurrent,
    loadImages: async (archive) => {
      const words = ['ctr', '-n', 'k8s.io', 'images', 'import', archive];
      for (const outcome of await Promise.all(nodes.map((node) => runOn(node, words)))) {
        if (outcome.exitCode !== 0) throw new Error(`ctr images import: ${outcome.stderr}`);
      }
    },
    holdApiServer: async () => {
      writeFileSync(join(state, 'hold'), '');
      await run(['pkill', '-KILL', '-x', 'kube-apiserver']);
    },
    releaseApiServer: async () => {
      rmSync(join(state, 'hold'));
      while ((await run(['kubectl', 'get', '--raw', '/readyz'])).exitCode !== 0) {
        await setTimeout(200);
      }
      await routesAreCurrent();
    },
    [Symbol.asyncDispose]: async () => {
      first.cut();
      await first.exited;
      while (!removeGroups(group)) await setTimeout(50);
      rmSync(state, { recursive: true, force: true });
    },
  };
}

/** Waits for all nodes and for DNS; throws the end of the log when the cluster exits instead. */
async function waitUntilReady(
  cluster: Cluster,
  state: string,
  first: LeashedProcess,
  nodes: readonly string[],
): Promise<void> {
  const ended = first.exited.then((how) => {
    const log = readFileSync(join(state, 'log/control-plane.log'), 'utf8').slice(-2_000);
    throw new Error(`the cluster of this test ended (${how}): ${log}`);
  });
  const until = async (words: readonly string[], matches: (output: string) => boolean) => {
    for (;;) {
      const outcome = await Promise.race([cluster.run(['kubectl', ...words]), ended]);
      if (outcome.exitCode === 0 && matches(outcome.stdout)) return;
      await Promise.race([setTimeout(100), ended]);
    }
  };
  await until(['get', '--raw', '/readyz'], () => true);
  await cluster.kubectl(['apply', '--validate=false', '-f', '-'], JSON.stringify(dnsService()));
  await until(
    ['get', 'nodes', '--no-headers'],
    (output) => output.match(/\bReady\b/g)?.length === nodes.length,
  );
  await until(['get', 'serviceaccount', 'default'], () => true);
  await until(['get', 'endpointslices', '-A'], () =>
    nodes.every((node) => existsSync(join(state, `${node}.pid`))),
  );
}

let markers = 0;

/** A Service without pods whose single endpoint has a unique port. */
function unroutedService(name: string, index: number): { objects: object; destination: string } {
  const port = 10_000 + index;
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name } };
  const objects = {
    apiVersion: 'v1',
    kind: 'List',
    items: [{ ...service, spec: { ports: [{ port }] } }, endpointSlice(name, { name }, [{ port }])],
  };
  return { objects, destination: `${controlPlaneAddress}:${port}` };
}

/** Endpoint of a Service that leads to a process of the first node instead of a pod. */
export function endpointSlice(service: string, metadata: object, ports: object[]): object {
  const labels = { 'kubernetes.io/service-name': service };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { ...metadata, labels },
    endpoints: [{ addresses: [controlPlaneAddress], conditions: { ready: true } }],
    ports,
  };
}

/** CoreDNS is not a pod here, so its Service has a fixed address and no selector. */
function dnsService(): object {
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const ports = [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  ];
  const service = { apiVersion: 'v1', kind: 'Service', metadata };
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { ...service, spec: { clusterIP: dnsAddress, ports } },
      endpointSlice(metadata.name, metadata, ports),
    ],
  };
}
