/** Tests that the commands in the README of the chart work, and that its options run in a real cluster. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { chartFolder, type HelmMajor, helmProgram } from '../../chart/helm.ts';
import { eventually } from '../../support/server/eventually.ts';
import { manifest } from '../../support/sync/manifests.ts';
import { type Cluster, startCluster } from '../kit/cluster.ts';
import { registry } from '../kit/images.ts';
import { claim, databaseHost, type Platform, startPlatform } from './platform.ts';
import { runnableValues } from './runnable-values.ts';

const why = inject('noCluster');
const root = resolve(import.meta.dirname, '../../..');
const readme = readFileSync(join(chartFolder, 'README.md'), 'utf8');

/** Returns the first code block of that language after a heading. */
function blockOf(heading: string, language: string): string {
  const section = readme.slice(readme.indexOf(`\n${heading}\n`));
  const [, text] = new RegExp(`\`\`\`${language}\n([^\`]+)\`\`\``).exec(
    section.replaceAll(/^ {2}(?=\S)/gm, ''),
  )!;
  return text!;
}

describe.skipIf(why !== null)(`choices of the chart${why === null ? '' : ` (${why})`}`, () => {
  let cluster: Cluster;
  let platform: Platform;

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.loadImages(inject('images'));
    platform = await startPlatform(cluster);
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** Runs lines of the README in the clone, with the host names of the test cluster. */
  async function runReadme(lines: string, major: HelmMajor): Promise<string> {
    const text = lines
      .replaceAll('registry.example.com', registry)
      .replaceAll('mysql.example.com', databaseHost);
    const script = `cd ${root}\nhelm() { ${helmProgram(major)} "$@"; }\n${text}`;
    const { exitCode, stdout, stderr } = await cluster.run(['sh', '-eu', '-c', script]);
    expect(`${exitCode} ${exitCode === 0 ? '' : stdout + stderr}`).toBe('0 ');
    return stdout;
  }

  async function helm(
    namespace: string,
    words: readonly string[],
    values?: object,
    major: HelmMajor = 4,
  ): Promise<string> {
    const command = [helmProgram(major), '--namespace', namespace, ...words];
    const given = values === undefined ? [] : ['--values', '-'];
    const { exitCode, stdout, stderr } = await cluster.run(
      [...command, ...given],
      JSON.stringify(values ?? {}),
    );
    if (exitCode !== 0) throw new Error(`helm ${words.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  }
  const kubectl = async (namespace: string, ...words: readonly string[]): Promise<string> =>
    await cluster.kubectl(['--namespace', namespace, ...words]);
  const chart = ['gw', chartFolder];
  const wait = ['--wait', '--timeout', '10m'];

  /** Values for a namespace that the platform has prepared. */
  const prepared = (namespace: string): object => ({
    global: { imageRegistry: registry },
    masterKey: { existingSecret: 'gatewright-master-key' },
    mysql: {
      host: databaseHost,
      database: namespace.replaceAll('-', '_'),
      existingSecret: 'gatewright-mysql',
      tls: { mode: 'VERIFY_IDENTITY', existingSecret: 'gatewright-mysql-tls' },
    },
  });
  const migrationValues = (strategy: string): object => ({
    migrations: { strategy, existingSecret: 'gatewright-mysql-owner' },
  });
  const helmTest = async (namespace: string): Promise<void> => {
    expect(await helm(namespace, ['test', 'gw'])).toMatch(/Phase: +Succeeded/);
  };

  /** A manifest of a key that is delivered as a Secret. */
  const keyManifest = (namespace: string, name: string): string => {
    const target = `{namespace: ${namespace}, name: ${name}, key: api-key}`;
    const spec = `scopes: [workspaces.list]\nsecretOutput: {kubernetesSecret: ${target}}`;
    return manifest('ApiKey', name, spec);
  };
  const expectDelivered = async (namespace: string, name: string): Promise<void> => {
    await eventually(async () => {
      const path = 'jsonpath={.data.api-key}';
      expect(await kubectl(namespace, 'get', 'secret', name, '-o', path)).not.toBe('');
    });
  };

  it('installs by the commands of its README, with its own database user', async () => {
    await platform.sql(blockOf('## Prerequisites', 'sql'));
    const output = await runReadme(blockOf('## Install', 'sh'), 3);
    expect(output).toMatch(/Phase: +Succeeded/);
  });

  it('installs a trial by the commands of its README, and the printed next steps work', async () => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    await platform.apply('default', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'standard', annotations },
      provisioner: 'example.com/none',
    });
    const volume = { name: 'trial', user: 999, node: 'node1', className: 'standard', size: '5Gi' };
    await platform.makeVolume(volume);
    const names = [`${registry}/library/mariadb:10.11`, 'docker.io/library/mariadb:10.11'];
    for (const node of cluster.nodes) {
      await cluster.runOn(node, ['ctr', '-n', 'k8s.io', 'images', 'tag', ...names]);
    }
    const output = await runReadme(blockOf('### Trial without a database', 'sh'), 4);
    expect(output).toMatch(/Phase: +Succeeded/);
    expect(output).toContain('Not for production');
    const [, next] = /^Next:\n((?: {2}.*\n)+)/m.exec(output)!;
    expect(await runReadme(next!, 4)).toContain('"clientSecret"');
  });

  it('migrates in a hook, which stops an upgrade when it fails', async () => {
    await platform.prepare('hook');
    const values = { ...prepared('hook'), ...migrationValues('hook') };
    await helm('hook', ['install', ...chart, ...wait], values);
    await helm('hook', ['upgrade', ...chart, ...wait, '--set', 'image.tag=next'], values);
    const broken = ['--set', 'image.tag=broken', '--timeout', '3m'];
    await expect(helm('hook', ['upgrade', ...chart, ...broken], values)).rejects.toThrow(
      /pre-upgrade hooks failed/,
    );
    const path = 'jsonpath={.items[*].spec.template.spec.containers[*].image}';
    const images = await kubectl('hook', 'get', 'deployments', '-o', path);
    expect(new Set(images.split(' '))).toEqual(new Set([`${registry}/gatewright/gatewright:next`]));
    await helm('hook', ['rollback', 'gw', '2', ...wait]);
    await helmTest('hook');
    await helm('hook', ['uninstall', 'gw', '--wait']);
  });

  it('waits for external migrations', async () => {
    await platform.prepare('external');
    await helm('external', ['install', ...chart], {
      ...prepared('external'),
      ...migrationValues('external'),
    });
    await eventually(async () => {
      const words = ['logs', 'deployment/gw-gatewright-server', '--container=migrate'];
      expect(await kubectl('external', ...words)).toMatch(/migrations/);
    });
    const path = (key: string): string => `jsonpath={.data.${key}}`;
    const secret = async (key: string): Promise<string> => {
      const words = ['get', 'secret', 'gatewright-mysql-owner', '-o', path(key)];
      return Buffer.from(await kubectl('external', ...words), 'base64').toString();
    };
    const variables = {
      DB_HOST: databaseHost,
      DB_NAME: 'external',
      DB_SSL: 'REQUIRED',
      DB_USER: await secret('username'),
      DB_PASS: await secret('password'),
    };
    const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const program = [process.execPath, join(root, 'src/main.ts'), 'migrate'];
    expect(await cluster.run(['env', ...settings, ...program])).toMatchObject({ exitCode: 0 });
    await kubectl(
      'external',
      'rollout',
      'status',
      'deployment/gw-gatewright-server',
      '--timeout=10m',
    );
    await helmTest('external');
    await helm('external', ['uninstall', 'gw', '--wait']);
  });

  it('runs all components in one pod, and follows changes of a ConfigMap', async () => {
    await platform.prepare('one');
    const files = (...names: string[]): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'manifests' },
      data: Object.fromEntries(names.map((name) => [`${name}.yaml`, keyManifest('one', name)])),
    });
    await platform.apply('one', files('first'));
    await helm('one', ['install', ...chart, ...wait], {
      ...prepared('one'),
      ...migrationValues('initContainer'),
      mode: 'all-in-one',
      sync: {
        enabled: true,
        configMap: 'manifests',
        intervalSeconds: 5,
        kubernetes: { enabled: true, status: true, lease: true },
      },
    });
    await expectDelivered('one', 'first');
    await platform.apply('one', files('first', 'second'));
    await expectDelivered('one', 'second');
    const status = await kubectl('one', 'get', 'configmap', 'gw-gatewright-sync-status', '-o=yaml');
    expect(status).toContain('Synced');
    await helmTest('one');
    await helm('one', ['uninstall', 'gw', '--wait']);
    const left = await kubectl('one', 'get', 'leases,secrets', '-o', 'name');
    expect(left).toContain('lease.coordination.k8s.io/gw-gatewright-sync');
    expect(left).toContain('secret/second');
  });

  it('reads manifests from a volume', async () => {
    await platform.prepare('volume');
    const path = await platform.makeVolume({ name: 'manifests', user: 65_532 });
    for (const node of cluster.nodes) {
      const text = keyManifest('volume', 'first');
      await cluster.runOn(node, ['tee', join(path, 'first.yaml')], text);
    }
    await platform.apply('volume', claim('manifests', 'manifests'));
    const source = { persistentVolumeClaim: { claimName: 'manifests' } };
    await helm('volume', ['install', ...chart, ...wait], {
      ...prepared('volume'),
      ...migrationValues('initContainer'),
      sync: { enabled: true, sourceVolume: { source }, kubernetes: { enabled: true } },
    });
    await expectDelivered('volume', 'first');
    await helm('volume', ['uninstall', 'gw', '--wait']);
  });

  const seed = Number(process.env.GATEWRIGHT_TEST_SEED ?? 31);
  const samples = fc.sample(runnableValues, { seed, numRuns: 2 });

  it.each(samples.entries().toArray())('runs with random values (%i)', async (index, values) => {
    const namespace = `random-${index}`;
    await platform.prepare(namespace);
    await platform.apply(namespace, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'manifests' },
      data: { 'key.yaml': keyManifest(namespace, 'first') },
    });
    await helm(namespace, ['install', ...chart, ...wait], { ...prepared(namespace), ...values });
    await helmTest(namespace);
    await expectDelivered(namespace, 'first');
    await helm(namespace, ['uninstall', 'gw', '--wait']);
  });
});
