/** Fills the disk below the spool and the snapshot of a gateway. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultKind } from './fault.ts';

/** Writes until not one more byte fits. */
function fill(file: string): void {
  for (let bytes = 1024 * 1024; bytes >= 1; ) {
    try {
      writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
}

export const diskFaults: readonly FaultKind[] = [
  {
    name: 'disk full',
    durationMs: [1_000, 6_000],
    permits: [],
    // The disk claims its gateway too: what waits in memory is lost with it (docs/guides/operations.md, Spool).
    targetsOf: ({ smallDisk }) => [
      { name: smallDisk!.place.name, claims: [smallDisk!.place.name] },
    ],
    whyMissing: ({ smallDisk }) =>
      smallDisk === null ? 'mounting a small disk needs root on Linux' : null,
    inject: async ({ smallDisk }) => {
      const filler = join(smallDisk!.path, 'filler');
      fill(filler);
      return async () => rmSync(filler, { force: true });
    },
  },
];
