/** Installs and operates a release of the chart with the values of examples/3-private-cluster, by Helm 3 or 4. */
import { resolve } from 'node:path';
import { expect } from 'vitest';
import { chartFolder, type HelmMajor, helmProgram } from '../../chart/helm.ts';
import { eventually } from '../../support/server/eventually.ts';
import type { Cluster } from '../kit/cluster.ts';
import type { Tag } from '../kit/images.ts';
import type { Target } from './load.ts';
import type { Platform } from './platform.ts';

const exampleValues = resolve(
  import.meta.dirname,
  '../../../examples/3-private-cluster/values.yaml',
);
const waitMs = 300_000;

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
    readonly initContainerStatuses?: readonly { readonly restartCount: number }[];
  };
}

export class Release {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly #platform: Platform;
  readonly #major: HelmMajor;

  constructor(cluster: Cluster, platform: Platform, namespace: string, major: HelmMajor) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.#platform = platform;
    this.#major = major;
  }

  /** Values that differ from the example, because some host names differ. */
  values(tag: Tag, more: { readonly server?: object } = {}): object {
    return {
      ...(tag === 'now' ? {} : { image: { tag } }),
      mysql: { database: this.namespace.replaceAll('-', '_') },
      sync: {
        source: `${this.#platform.repositoryUrl(this.namespace)}#main`,
        intervalSeconds: 5,
        kubernetes: { enabled: true },
      },
      ...more,
    };
  }

  /** Returns the output of helm; throws its error output when it fails. */
  async helm(words: readonly string[], values?: object): Promise<string> {
    const options = ['--namespace', this.namespace];
    const files = values === undefined ? [] : ['--values', exampleValues, '--values', '-'];
    const command = [helmProgram(this.#major), ...words, ...options, ...files];
    const input = values === undefined ? '' : JSON.stringify(values);
    const { exitCode, stdout, stderr } = await this.cluster.run(command, input);
    if (exitCode !== 0) throw new Error(`helm ${words.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  }

  async install(values: object): Promise<string> {
    return await this.helm(['install', 'gw', chartFolder, ...this.#wait()], values);
  }

  async upgrade(values: object): Promise<string> {
    return await this.helm(['upgrade', 'gw', chartFolder, ...this.#wait()], values);
  }

  /** Upgrades with automatic rollback when the release is not ready in time. */
  async tryUpgrade(values: object, timeout: string): Promise<string> {
    const option = this.#major === 3 ? '--atomic' : '--rollback-on-failure';
    const words = ['upgrade', 'gw', chartFolder, option, '--timeout', timeout];
    return await this.helm(words, values);
  }

  async rollback(revision: number, timeout?: string): Promise<string> {
    return await this.helm(['rollback', 'gw', String(revision), ...this.#wait(timeout)]);
  }

  #wait(timeout = `${waitMs / 1000}s`): string[] {
    return ['--wait', '--timeout', timeout];
  }

  async kubectl(words: readonly string[]): Promise<string> {
    return await this.cluster.kubectl(['--namespace', this.namespace, ...words]);
  }

  /** Names of all workspaces. */
  async workspaces(target: Target): Promise<string[]> {
    const names: string[] = [];
    for (let page = 0; ; page += 1) {
      const { body } = await this.get(target, `/workspaces?page_size=100&current_page=${page}`);
      const { data } = JSON.parse(body) as { data: readonly { readonly name: string }[] };
      if (data.length === 0) return names;
      names.push(...data.map(({ name }) => name));
    }
  }

  async pods(component: string): Promise<readonly Pod[]> {
    const label = `app.kubernetes.io/component=${component}`;
    return JSON.parse(await this.kubectl(['get', 'pods', '-l', label, '-o', 'json'])).items;
  }

  /** Waits until exactly two ready pods of each component exist and receive the requests. */
  async waitUntilSettled(): Promise<void> {
    const isReady = ({ status }: Pod): boolean =>
      status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    const path = 'jsonpath={.items[*].endpoints[*].addresses[0]}';
    for (const component of ['server', 'gateway', 'mcp', 'sync']) {
      await eventually(async () => {
        expect((await this.pods(component)).map(isReady)).toEqual([true, true]);
      });
    }
    for (const component of ['server', 'gateway', 'mcp']) {
      const label = `kubernetes.io/service-name=gw-gatewright-${component}`;
      await eventually(async () => {
        const endpoints = await this.kubectl(['get', 'endpointslices', '-l', label, '-o', path]);
        const addresses = (await this.pods(component)).map(({ status }) => status.podIP);
        expect(endpoints.split(' ').sort()).toEqual(addresses.sort());
      });
    }
  }

  /** Images in the Deployments of the release. */
  async images(): Promise<string> {
    const path = 'jsonpath={.items[*].spec.template.spec.containers[*].image}';
    return await this.kubectl(['get', 'deployments', '-o', path]);
  }

  /** Output of `gatewright status`, which names the pods that hold a sync lease. */
  async leaders(): Promise<string> {
    const words = [
      'exec',
      'deployment/gw-gatewright-sync',
      '--',
      'gatewright',
      'status',
      '-o',
      'wide',
    ];
    return await this.kubectl(words);
  }

  /** Kills all processes of a pod at once, like a power failure. */
  async killPod({ metadata: { uid }, spec: { nodeName } }: Pod): Promise<void> {
    const script = `grep -l "pod${uid}" /proc/[0-9]*/cgroup | cut -d/ -f3 | xargs -r kill -KILL`;
    await this.cluster.runOn(nodeName, ['sh', '-c', script]);
  }

  /** Creates a key that may list and create workspaces, starting as in the notes of the chart. */
  async target(): Promise<Target> {
    const words = ['gatewright', 'bootstrap', '--derived', '--name', 'admin', '--file', '-'];
    const address = await this.#address('server');
    const credentials = await this.kubectl([
      'exec',
      'deployment/gw-gatewright-server',
      '--',
      ...words,
      '--url',
      address,
    ]);
    const { baseUrl, clientId, clientSecret, tsgId } = JSON.parse(credentials);
    const scope = `scope=tsg_id:${tsgId}`;
    const { access_token: token } = await this.#post(`${address}/oauth2/access_token`, [
      '--user',
      `${clientId}:${clientSecret}`,
      '--data',
      'grant_type=client_credentials',
      '--data',
      scope,
    ]);
    const scopes = ['workspaces.list', 'workspaces.create', 'completions.write'];
    const key = { name: 'load', scopes };
    const created = await this.#post(`${address}/v2/api-keys/organisation/service`, [
      '--header',
      `authorization: Bearer ${token}`,
      '--json',
      JSON.stringify(key),
    ]);
    const inferenceUrl = `${await this.#address('gateway')}/v1`;
    return { url: baseUrl!, inferenceUrl, key: created.key! };
  }

  async #post(url: string, options: readonly string[]): Promise<Record<string, string>> {
    const words = ['curl', '--silent', '--fail-with-body', '--max-time', '30', ...options, url];
    const { exitCode, stdout } = await this.cluster.run(words);
    if (exitCode !== 0) throw new Error(`POST ${url}: ${stdout}`);
    return JSON.parse(stdout);
  }

  async #address(component: 'server' | 'gateway'): Promise<string> {
    const path = 'jsonpath=http://{.spec.clusterIP}:{.spec.ports[0].port}';
    return await this.kubectl(['get', 'service', `gw-gatewright-${component}`, '-o', path]);
  }

  /** Sends a GET request to the API; returns status and body. */
  async get({ url, key }: Target, path: string): Promise<{ status: number; body: string }> {
    const header = `x-gateway-api-key: ${key}`;
    const words = ['curl', '-s', '-m', '30', '-w', '\n%{http_code}', '-H', header, `${url}${path}`];
    const { stdout } = await this.cluster.run(words);
    const end = stdout.lastIndexOf('\n');
    return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
  }
}
