/** Knows how tests get a real Kubernetes with real nodes and pods on one machine, and how it goes without a trace. */
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

/** Of the control plane and of the first node, in the LAN of the cluster. */
export const controlPlaneAddress = '198.19.0.1';
const dnsAddress = '198.18.128.10';
const hierarchies = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'];

/** What keeps this machine from running nodes; null where nothing does. */
export function whyNoCluster(): string | null {
  if (process.platform !== 'linux') return 'this is no Linux';
  if (process.getuid!() !== 0) return 'namespaces, control groups and mounts need root';
  const namespaces = ['--net', '--mount', '--pid', '--fork', 'true'];
  if (spawnSync('unshare', namespaces).status !== 0) return 'no namespaces can be made here';
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
  /** Words before a command that make it run there, with the environment of this process. */
  readonly enter: readonly string[];
  /** Runs a program on a node as root. */
  runOn(node: string, words: readonly string[], input?: string): Promise<Outcome>;
  /** What kubectl prints; throws what it says when it fails. */
  kubectl(words: readonly string[], input?: string): Promise<string>;
  /** Makes an archive of images known to each node. */
  loadImages(archive: string): Promise<void>;
  /** Kills the API server and keeps it down. */
  holdApiServer(): Promise<void>;
  /** Resolves when it is back, and each node knows. */
  releaseApiServer(): Promise<void>;
  /**
   * Waits until each node sends connections to Services where the API server has them go by now: what
   * has lost it asks again after ever longer pauses, up to a minute, and knows only old pods till then.
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
    ...{ PROGRAMS: programs, STATE: state, KIT: import.meta.dirname },
    ...{ NODES: String(nodeCount), CGROUP: group },
  };
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const first = spawnLeashed(
    ['unshare', ...namespaces, '--propagation', 'private', 'env', ...settings, script],
    { cwd: state, output },
  );
  closeSync(output);
  const cluster = open(state, group, first, nodes);
  try {
    await isReady(cluster, state, first, nodes);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

const prefix = 'gatewright-cluster-';

/** Of clusters whose process was killed: nothing runs, but folders and control groups stay. */
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

/** Tokens of the parts of the cluster, and how each reaches the API server. */
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
  // Beside a busy machine's other processes, which count one by one, a cluster would count as one of them.
  writeFileSync(join('/sys/fs/cgroup/cpu', group, 'cpu.shares'), '32768');
  // A cpuset is empty until it is filled.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const all = readFileSync(join('/sys/fs/cgroup/cpuset', file));
    writeFileSync(join('/sys/fs/cgroup/cpuset', group, file), all);
  }
}

/** False when some are still in use. */
function removeGroups(group: string): boolean {
  const remove = (folder: string): boolean => {
    const within = readdirSync(folder, { withFileTypes: true }).filter((one) => one.isDirectory());
    for (const { name } of within) remove(join(folder, name));
    try {
      rmdirSync(folder);
      return true;
    } catch {
      return false;
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
    // One that is found by both watches of a node, of Services and of their endpoints.
    markers += 1;
    const marker = unroutedService(`marker-${markers}`, markers);
    await kubectl(['apply', '--validate=false', '-f', '-'], JSON.stringify(marker.objects));
    for (const node of nodes) {
      const isThere = async (): Promise<boolean> =>
        (await runOn(node, ['iptables-save', '-t', 'nat'])).stdout.includes(marker.destination);
      while (!(await isThere())) await setTimeout(100);
    }
  };
  return {
    ...{ nodes, enter, run, kubectl, runOn, routesAreCurrent },
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

/** Waits for every node and for names; throws the end of the log when the cluster ends instead. */
async function isReady(
  cluster: Cluster,
  state: string,
  first: LeashedProcess,
  nodes: readonly string[],
): Promise<void> {
  const ended = first.exited.then((how) => {
    const log = readFileSync(join(state, 'log/control-plane.log'), 'utf8').slice(-2_000);
    throw new Error(`the cluster of this test ended (${how}): ${log}`);
  });
  const until = async (words: readonly string[], holds: (told: string) => boolean) => {
    for (;;) {
      const told = await Promise.race([cluster.run(['kubectl', ...words]), ended]);
      if (told.exitCode === 0 && holds(told.stdout)) return;
      await Promise.race([setTimeout(100), ended]);
    }
  };
  await until(['get', '--raw', '/readyz'], () => true);
  await cluster.kubectl(['apply', '--validate=false', '-f', '-'], JSON.stringify(dnsService()));
  await until(
    ['get', 'nodes', '--no-headers'],
    (told) => told.match(/\bReady\b/g)?.length === nodes.length,
  );
  await until(['get', 'serviceaccount', 'default'], () => true);
  await until(['get', 'endpointslices', '-A'], () =>
    nodes.every((node) => existsSync(join(state, `${node}.pid`))),
  );
}

let markers = 0;

/** A Service without pods, whose one endpoint has a port that no other has. */
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

/** Of a Service whose one endpoint is a process of the first node, not a pod. */
export function endpointSlice(service: string, metadata: object, ports: object[]): object {
  const labels = { 'kubernetes.io/service-name': service };
  return {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { ...metadata, labels },
    endpoints: [{ addresses: [controlPlaneAddress], conditions: { ready: true } }],
    ports,
  };
}

/** CoreDNS is no pod here, so its Service has no selector and its address is written down. */
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
