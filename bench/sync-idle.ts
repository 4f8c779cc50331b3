/** Knows what the daemon takes while nothing happens beside a folder of two thousand files. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestDatabaseServer } from '../test/database-server.ts';
import type { Member, Row } from './harness.ts';
import { besideDaemon, cpuTicks, environment, setUp, startProduct } from './product.ts';

const files = 2_000;
const filesPerFolder = 50;
const measuredMs = 60_000;
/** A file that changed a moment ago is read again; a pass for drift does not fall into the time. */
const settleMs = 15_000;
const ticksPerSecond = 100;
const shareMax = 1;

export const member: Member = {
  name: 'sync: idle beside 2,000 files',
  run: async (scale): Promise<Row[]> => {
    const database = await startTestDatabaseServer();
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
    try {
      const env = environment(database.server);
      const tenant = await setUp(database.server, env);
      const server = await startProduct(env);
      writeSource(join(folder, 'source'), Math.ceil(files * scale));
      const url = server.url;
      const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url };
      writeFileSync(join(folder, 'credentials.json'), JSON.stringify({ ...tenant, ...addresses }));
      const share = await idleShare(folder);
      server.process.kill();
      await once(server.process, 'exit');
      return [{ metric: 'CPU of the daemon, per cent of a core', ratio: share, aim: shareMax }];
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await database.stop();
    }
  },
};

function writeSource(root: string, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const place = join(root, `team-${Math.floor(at / filesPerFolder)}`);
    if (at % filesPerFolder === 0) mkdirSync(place, { recursive: true });
    const lines = [
      'apiVersion: gatewright.dev/v1',
      'kind: Config',
      `metadata: {name: config-${at}}`,
      'spec: {config: {retry: {attempts: 3}}}',
    ];
    writeFileSync(join(place, `config-${at}.yaml`), `${lines.join('\n')}\n`);
  }
}

function idleShare(folder: string): Promise<number> {
  return besideDaemon(folder, settleMs, async (pid) => {
    const before = cpuTicks(pid);
    await delay(measuredMs);
    const ticks = cpuTicks(pid) - before;
    return (ticks / ticksPerSecond / (measuredMs / 1000)) * 100;
  });
}
