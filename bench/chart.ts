/** Measures rendering the chart, and installing it on a two-node cluster with an existing database. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chartFolder, type HelmMajor, helmMajors, helmProgram } from '../test/chart/helm.ts';
import { type Cluster, startCluster } from '../test/cluster/kit/cluster.ts';
import { archiveImages, registry } from '../test/cluster/kit/images.ts';
import { missingCluster } from '../test/cluster/kit/missing-cluster.ts';
import { interleave, type Member, median, type Row } from './harness.ts';

const exampleValues = resolve(import.meta.dirname, '../examples/3-private-cluster/values.yaml');
const databases = ['first', 'second', 'third'];

export const member: Member = {
  name: 'the chart, rendered, and installed on two nodes',
  run: async () => [...renderRows(), ...(await installRows())],
};

function renderRows(): Row[] {
  const args = ['template', 'gw', chartFolder, '--values', exampleValues];
  const name = (major: HelmMajor): string => `render by Helm ${major}, ms`;
  const { measures } = interleave(
    helmMajors.map((major) => ({ name: name(major), command: helmProgram(major), args })),
    9,
    3,
  );
  return [...measures].map(([metric, { cpuMs }]) => ({ metric, ratio: cpuMs, aim: 100 }));
}

async function installRows(): Promise<Row[]> {
  const missing = await missingCluster();
  if (missing !== null) {
    process.stdout.write(`  not installed: ${missing}\n`);
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
  await using cluster = await startCluster();
  try {
    const archive = join(folder, 'images.tar');
    await archiveImages(archive);
    await cluster.loadImages(archive);
    await startDatabase(cluster);
    const times: number[] = [];
    for (const database of databases) {
      const words = ['install', database, chartFolder, '--wait', '--values', '-'];
      const values = JSON.stringify(installValues(database));
      const began = performance.now();
      const { exitCode, stderr } = await cluster.run([helmProgram(4), ...words], values);
      if (exitCode !== 0) throw new Error(stderr);
      times.push((performance.now() - began) / 1000);
    }
    return [{ metric: 'install to ready, two pods, s', ratio: median(times), aim: 15 }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts one throwaway database server that all installations share. */
async function startDatabase(cluster: Cluster): Promise<void> {
  const image = `${registry}/library/mariadb:10.11`;
  const variables = ['--env=MARIADB_ROOT_PASSWORD=bench', '--port=3306', '--expose'];
  await cluster.kubectl(['run', 'mysql', `--image=${image}`, ...variables]);
  const client = ['mariadb', '--host=127.0.0.1', '--user=root', '--password=bench', '--execute'];
  const make = databases.map((name) => `CREATE DATABASE ${name} CHARACTER SET utf8mb4;`).join('');
  const words = ['exec', 'mysql', '--', ...client, make];
  while ((await cluster.run(['kubectl', ...words])).exitCode !== 0) await setTimeout(200);
  const literals = [
    'username=root',
    'password=bench',
    `master-key=${randomBytes(32).toString('hex')}`,
  ];
  const secret = ['create', 'secret', 'generic', 'gatewright'];
  await cluster.kubectl([...secret, ...literals.map((one) => `--from-literal=${one}`)]);
}

function installValues(database: string): object {
  return {
    global: { imageRegistry: registry },
    masterKey: { existingSecret: 'gatewright' },
    mysql: { host: 'mysql', database, existingSecret: 'gatewright' },
  };
}
