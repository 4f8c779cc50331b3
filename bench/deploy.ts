/** Measures one pod of the product: image size, time until ready and memory at rest. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { missingImage, productImage } from '../test/containers/images.ts';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import { type Member, quartilesOf, type Row } from './harness.ts';
import {
  environment,
  measureDaemon,
  residentMiB,
  setUp,
  startProduct,
  type Tenant,
} from './product.ts';
import { writeCredentials, writeSource } from './sync-setup.ts';

const starts = 9;
const resources = 1_000;
/** Lets garbage of the start or the apply be collected before memory is read. */
const settleMs = 20_000;
const bytesInMb = 1e6;
const mbInMib = 1.048_576;

export const member: Member = {
  name: 'deploy: image, start and memory',
  run: async (scale): Promise<Row[]> => {
    const database = await startTestDatabaseServer();
    try {
      const env = environment(database.server);
      const tenant = await setUp(database.server, env);
      const times: number[] = [];
      for (let round = 0; round < starts; round += 1) times.push(await readyMs(env));
      const [lower, median, upper] = quartilesOf(times.map((ms) => ms / 1000));
      const quartiles = [lower, upper] as const;
      return [
        ...(await imageRows()),
        { metric: 'start of serve to ready, s', ratio: median, quartiles, aim: 1.5 },
        ...(await memoryRows(env, tenant, Math.ceil(resources * scale))),
      ];
    } finally {
      await database.stop();
    }
  },
};

async function imageRows(): Promise<Row[]> {
  const missing = await missingImage(productImage);
  if (missing !== null) {
    process.stdout.write(`  no image: ${missing}\n`);
    return [];
  }
  const words = ['image', 'inspect', '--format', '{{.Size}}', await productImage()];
  const bytes = Number(execFileSync('docker', words, { encoding: 'utf8' }));
  return [{ metric: 'image, MB', ratio: bytes / bytesInMb, aim: 220 }];
}

/** Time from process start until `/readyz` returns 200, as `gatewright healthcheck` would see it. */
async function readyMs(env: Record<string, string>): Promise<number> {
  const began = performance.now();
  const server = await startProduct(env);
  while (!(await isReady(server.url))) await delay(5);
  const took = performance.now() - began;
  const exited = once(server.process, 'exit');
  server.process.kill();
  await exited;
  return took;
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`);
  await response.body?.cancel();
  return response.status === 200;
}

async function memoryRows(
  env: Record<string, string>,
  tenant: Tenant,
  count: number,
): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
  const server = await startProduct(env);
  try {
    await delay(settleMs);
    const idle = residentMiB(server.process.pid!) * mbInMib;
    writeSource(join(folder, 'source'), count);
    writeCredentials(join(folder, 'credentials.json'), server.url, tenant);
    const daemon = await measureDaemon(folder, settleMs, (pid) => residentMiB(pid) * mbInMib);
    return [
      { metric: 'resident: serve, idle, MB', ratio: idle, aim: 120 },
      { metric: `resident: sync, ${count} resources applied, MB`, ratio: daemon, aim: 100 },
    ];
  } finally {
    server.process.kill();
    await once(server.process, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}
