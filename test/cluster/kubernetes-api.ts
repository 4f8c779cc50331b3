/** Starts a real Kubernetes API for tests: etcd and kube-apiserver as processes, with users of few rights. */
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
import { KubeClient } from '../../src/kube/kube-client.ts';
import { programs } from './kit/programs.ts';

/** Why no Kubernetes can run on this machine; null when one can. */
export const unavailable = inject('noKubernetes');

/** Folder of the programs `etcd` and `kube-apiserver`. */
const directory = process.env.KUBEBUILDER_ASSETS ?? join(programs, 'bin');

export interface KubernetesApi extends AsyncDisposable {
  readonly url: string;
  /** Path of a kubeconfig: `admin` has all rights, other users have those that roles grant. */
  kubeconfig(user: string): string;
  client(user: string): KubeClient;
  /** Sends a request as `admin`, not by the client under test. Throws for any status but 2xx. */
  request<T = unknown>(request: AdminRequest): Promise<T>;
  /** Kills the API server like a crash. */
  stop(): Promise<void>;
  /** Starts it again, at the same address. */
  start(): Promise<void>;
}

interface AdminRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** Default: application/json. */
  readonly contentType?: string;
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
  // Sockets in its own folder, because another process could take a port.
  const etcd = run(home, 'etcd', [
    '--data-dir=etcd',
    '--unsafe-no-fsync',
    '--log-level=error',
    '--listen-client-urls=unix://c:0',
    '--advertise-client-urls=unix://c:0',
    '--listen-peer-urls=unix://p:0',
    '--initial-advertise-peer-urls=unix://p:0',
    '--initial-cluster=default=unix://p:0',
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
      const client = new KubeClient({
        config: api.kubeconfig(user),
        clock: systemClock,
        pause: async () => undefined,
      });
      clients.push(client);
      return client;
    },
    request: async <T>(given: AdminRequest) => (await requestAsAdmin(home, port, given)) as T,
    stop: async () => await end(server),
    start: async () => {
      for (let tries = 1; ; tries += 1) {
        if (port === 0) port = await freePort();
        server = run(home, 'kube-apiserver', apiServerOptions(home, port));
        if (await isReady(server, home, port)) return;
        const log = readFileSync(join(home, 'kube-apiserver.log'), 'utf8').slice(-2000);
        // Another process may have taken the port meanwhile.
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
    `--etcd-servers=unix://${home}/c:0`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${home}/pki`,
    '--service-cluster-ip-range=198.18.128.0/20',
    '--authorization-mode=RBAC',
    `--token-auth-file=${home}/tokens.csv`,
    '--service-account-issuer=https://test',
    `--service-account-key-file=${home}/account.key`,
    `--service-account-signing-key-file=${home}/account.key`,
    '--profiling=false',
    '--disable-admission-plugins=ServiceAccount',
  ];
}

/** The program ends with this process, even when this process is killed. */
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

/** False when the server ends instead. */
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

async function answers(home: string, port: number): Promise<boolean> {
  try {
    await requestAsAdmin(home, port, { method: 'GET', path: '/readyz' });
    return true;
  } catch {
    return false;
  }
}

/** The certificate proves that the server is ours and not another process at the same port. */
async function requestAsAdmin(
  home: string,
  port: number,
  { method, path, body, contentType = 'application/json' }: AdminRequest,
): Promise<unknown> {
  const ca = readFileSync(join(home, 'pki/apiserver.crt'), 'utf8');
  const dispatcher = new Agent({ connect: { ca } });
  try {
    const response = await request(`https://127.0.0.1:${port}${path}`, {
      method,
      dispatcher,
      headers: { authorization: 'Bearer token-of-admin', 'content-type': contentType },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode < 200 || response.statusCode >= 300) {
      throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    }
    return text.startsWith('{') ? JSON.parse(text) : text;
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
