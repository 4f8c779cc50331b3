/** Mounts a small disk that tests can fill. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Mounts a file system of this many megabytes. Returns null and logs the reason when this user may
 * not mount.
 */
export function mountSmallDisk(megabytes: number): string | null {
  const path = mkdtempSync(join(tmpdir(), 'gatewright-disk-'));
  const options = `size=${megabytes}m`;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
    return path;
  } catch {
    rmSync(path, { recursive: true });
    console.warn('SKIPPED: a full disk; mounting a small one needs root on Linux');
    return null;
  }
}

/**
 * A process that is ending may still have a file open: the disk is released when the process ends.
 */
export function unmountSmallDisk(path: string): void {
  execFileSync('umount', ['--lazy', path]);
  rmSync(path, { recursive: true });
}
