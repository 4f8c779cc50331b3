/** Knows what the daemon takes while nothing happens beside a folder of two thousand files. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from './harness.ts';
import { besideDaemon, cpuTicks } from './product.ts';
import { atPlace, writeSource } from './sync-place.ts';

const files = 2_000;
const measuredMs = 60_000;
/** A file that changed a moment ago is read again; a pass for drift does not fall into the time. */
const settleMs = 15_000;
const ticksPerSecond = 100;
const shareMax = 1;

export const member: Member = {
  name: 'sync: idle beside 2,000 files',
  run: async (scale) =>
    atPlace(async ({ folder }) => {
      writeSource(join(folder, 'source'), Math.ceil(files * scale));
      const share = await idleShare(folder);
      return [{ metric: 'CPU of the daemon, per cent of a core', ratio: share, aim: shareMax }];
    }),
};

function idleShare(folder: string): Promise<number> {
  return besideDaemon(folder, settleMs, async (pid) => {
    const before = cpuTicks(pid);
    await delay(measuredMs);
    const ticks = cpuTicks(pid) - before;
    return (ticks / ticksPerSecond / (measuredMs / 1000)) * 100;
  });
}
