/** Fills the disk below the spool and the snapshot of a gateway, and takes its spool away. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from '../scene/place.ts';
import type { Scene } from '../scene/scene.ts';
import type { FaultKind, FaultTarget } from './fault.ts';
import { unrecordedBudgets } from './permits.ts';

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

interface SpoolTarget extends FaultTarget {
  readonly place: Place;
}

const spool = {
  durationMs: [1_000, 6_000],
  permits: [unrecordedBudgets],
  /** One whose spool is not on the small disk; it claims its gateway as a full disk does. */
  targetsOf: ({ gateways: [place] }: Scene): SpoolTarget[] => [
    { name: place!.name, claims: [place!.name], place: place! },
  ],
} as const satisfies Partial<FaultKind<SpoolTarget>>;

/** Puts everything that was in the folder back, also where there is a new folder with its name. */
function putBack(away: string, path: string): void {
  mkdirSync(path, { recursive: true });
  for (const name of readdirSync(away)) renameSync(join(away, name), join(path, name));
  rmdirSync(away);
}

const fullDisk: FaultKind = {
  name: 'disk full',
  durationMs: [1_000, 6_000],
  permits: [],
  // The disk claims its gateway too: what waits in memory is lost with it (docs/guides/operations.md, Spool).
  targetsOf: ({ smallDisk }) => [{ name: smallDisk!.place.name, claims: [smallDisk!.place.name] }],
  whyMissing: ({ smallDisk }) =>
    smallDisk === null ? 'mounting a small disk needs root on Linux' : null,
  inject: async ({ smallDisk }) => {
    const filler = join(smallDisk!.path, 'filler');
    fill(filler);
    return async () => rmSync(filler, { force: true });
  },
};

const spoolFaults: readonly FaultKind<SpoolTarget>[] = [
  {
    ...spool,
    name: 'spool folder gone',
    inject: async (_, { place }) => {
      const { spoolPath } = place.parts;
      const away = `${spoolPath}-away`;
      renameSync(spoolPath, away);
      return async () => putBack(away, spoolPath);
    },
  },
  {
    ...spool,
    name: 'spool folder read-only',
    whyMissing: ({ smallDisk }) =>
      smallDisk === null ? 'mounting a folder read-only needs root on Linux' : null,
    inject: async (_, { place }) => {
      const { spoolPath } = place.parts;
      execFileSync('mount', ['--bind', spoolPath, spoolPath]);
      execFileSync('mount', ['-o', 'remount,bind,ro', spoolPath]);
      return async () => void execFileSync('umount', ['--lazy', spoolPath]);
    },
  },
];

export const diskFaults = [fullDisk, ...spoolFaults];
