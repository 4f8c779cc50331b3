/** Knows how a test gets a disk that is soon full. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of so many megabytes, or null, said aloud, where this user may not mount one. */
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

/** A process that is just ending may still hold a file of it: the disk goes when that does. */
export function unmountSmallDisk(path: string): void {
  execFileSync('umount', ['--lazy', path]);
  rmSync(path, { recursive: true });
}
