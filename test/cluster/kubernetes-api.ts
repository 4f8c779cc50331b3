/** Knows how tests get a real Kubernetes API: etcd and kube-apiserver as processes, with users that may little. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { inject } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type LeashedProcess, spawnLeashed } from '../../src/embedded/leash.ts';
import { readKubeAccess } from '../../src/kube/kube-access.ts';
import { KubeClient } from '../../src/kube/kube-client.ts';
import { programs } from './kit/programs.ts';

/** Why no Kubernetes can be had here; null where one can. */
export const unavailable = inject('noKubernetes');

/** Where `etcd` and `kube-apiserver` lie. */
const directory = process.env.KUBEBUILDER_ASSETS ?? join(programs, 'bin');

export interface KubernetesApi extends AsyncDisposable {
  readonly url: string;
  /** Of users by name: `admin` may everything, others what roles give them. */
  kubeconfig(user: string): string;
  client(user: string): KubeClient;
  /** Ends the API server, as a crash would. */
  stop(): Promise<void>;
  /** Starts it again, at the same address. */
  start(): Promise<void>;
}

const users = ['admin', 'gatewright', 'nobody'];
const triesMax = 5;

export async function startKubernetesApi(): Promise<KubernetesApi> {
  const home = mkdtempSync(join(tmpdir(), 'gatewright-kubernetes-'));
  execFileSync('openssl', ['genrsa', '-out', join(home, 'account.key'), '2048'], {
    stdio: 'ignore',
  });
  const rows = users.map((user) => {
    const groups = user === 'admin' ? ',"system:masters"' : '';
    return `token-of-${user},${user},${user}${groups}`;
  });
  writeFileSync(join(home, 'tokens.csv'), `${rows.join('\n')}\n`);
  // Sockets in its own folder: no port that somebody else may take.
  const etcd = run(home, 'etcd', [
    ...['--data-dir', 'etcd', '--unsafe-no-fsync', '--log-level', 'error'],
    ...['--listen-client-urls', 'unix://c:0', '--advertise-client-urls', 'unix://c:0'],
    ...['--listen-peer-urls', 'unix://p:0', '--initial-advertise-peer-urls', 'unix://p:0'],
    ...['--initial-cluster', 'default=unix://p:0'],
  ]);
  let port = 0;
  let server: LeashedProcess | undefined;
  const clients: KubeClient[] = [];
  const api: KubernetesApi = {
    get url() {
      return `https://127.0.0.1:${port}`;
    },
    kubeconfig: (user) => {
      const path = join(home, `${user}.kubeconfig`);
      const cluster = { server: api.url, 'certificate-authority': join(home, 'pki/apiserver.crt') };
      const config = {
        'current-context': 'test',
        contexts: [{ name: 'test', context: { cluster: 'test', user } }],
        clusters: [{ name: 'test', cluster }],
        users: [{ name: user, user: { token: `token-of-${user}` } }],
      };
      writeFileSync(path, JSON.stringify(config));
      return path;
    },
    client: (user) => {
      const access = readKubeAccess(api.kubeconfig(user));
      const client = new KubeClient(access, systemClock, async () => undefined);
      clients.push(client);
      return client;
    },
    stop: async () => await end(server),
    start: async () => {
      for (let tries = 1; ; tries += 1) {
        if (port === 0) port = await freePort();
        server = run(home, 'kube-apiserver', apiServerOptions(home, port));
        if (await isReady(server, home, port)) return;
        const log = readFileSync(join(home, 'kube-apiserver.log'), 'utf8').slice(-2000);
        // Somebody else may have taken the port meanwhile.
        if (tries === triesMax) throw new Error(`kube-apiserver did not start: ${log}`);
        port = 0;
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
      await end(server);
      await end(etcd);
      rmSync(home, { recursive: true, force: true });
    },
  };
  await api.start();
  return api;
}

function apiServerOptions(home: string, port: number): string[] {
  return [
    ...[`--etcd-servers=unix://${home}/c:0`, `--secure-port=${port}`, '--bind-address=127.0.0.1'],
    ...[`--cert-dir=${home}/pki`, '--service-cluster-ip-range=198.18.128.0/20'],
    ...['--authorization-mode=RBAC', `--token-auth-file=${home}/tokens.csv`],
    ...['--service-account-issuer=https://test', `--service-account-key-file=${home}/account.key`],
    ...[`--service-account-signing-key-file=${home}/account.key`, '--profiling=false'],
    '--disable-admission-plugins=ServiceAccount',
  ];
}

/** Dies with this process, however this one ends. */
function run(home: string, name: string, words: readonly string[]): LeashedProcess {
  const output = openSync(join(home, `${name}.log`), 'a');
  const child = spawnLeashed([resolve(directory, name), ...words], { cwd: home, output });
  closeSync(output);
  return child;
}

async function end(child: LeashedProcess | undefined): Promise<void> {
  child?.cut();
  await child?.exited;
}

/** False when it ends instead. */
async function isReady(server: LeashedProcess, home: string, port: number): Promise<boolean> {
  let isGone = false;
  void server.exited.then(() => {
    isGone = true;
  });
  while (!isGone) {
    if (existsSync(join(home, 'pki/apiserver.crt')) && (await answers(home, port))) return true;
    await setTimeout(50);
  }
  return false;
}

/** Asked of the process itself: what else might listen there has no such certificate. */
async function answers(home: string, port: number): Promise<boolean> {
  const ca = readFileSync(join(home, 'pki/apiserver.crt'), 'utf8');
  const dispatcher = new Agent({ connect: { ca } });
  try {
    const answer = await request(`https://127.0.0.1:${port}/readyz`, {
      dispatcher,
      headers: { authorization: 'Bearer token-of-admin' },
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  } finally {
    await dispatcher.destroy();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
