/** Measures the CPU time of an idle daemon that watches a folder of 2,000 files. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from './harness.ts';
import { cpuTicks, measureDaemon } from './product.ts';
import { withSyncSetup, writeSource } from './sync-setup.ts';

const files = 2_000;
const measuredMs = 60_000;
/** Skips the second read of recently changed files, and keeps the drift check out of the measurement. */
const settleMs = 15_000;
const ticksPerSecond = 100;
const shareMax = 1;

export const member: Member = {
  name: 'sync: idle daemon with 2,000 files',
  run: async (scale) =>
    withSyncSetup(async ({ folder }) => {
      writeSource(join(folder, 'source'), Math.ceil(files * scale));
      const share = await idleShare(folder);
      return [{ metric: 'CPU of the daemon, percent of a core', ratio: share, aim: shareMax }];
    }),
};

function idleShare(folder: string): Promise<number> {
  return measureDaemon(folder, settleMs, async (pid) => {
    const before = cpuTicks(pid);
    await delay(measuredMs);
    const ticks = cpuTicks(pid) - before;
    return (ticks / ticksPerSecond / (measuredMs / 1000)) * 100;
  });
}
