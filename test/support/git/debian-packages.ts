/**
 * Unpacks Debian packages into a folder without installing them, so that the machine does not
 * change.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Unpacks `packages` into the new folder `target`, completely or not at all. `complete` may change
 * the folder before it appears at its path.
 * @throws Error with the output of apt-get when a package cannot be downloaded
 */
export function unpackDebianPackages(
  packages: readonly string[],
  target: string,
  complete: (draft: string) => void = () => undefined,
): void {
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(dirname(target), 'packages-'));
  const download = () =>
    spawnSync('apt-get', ['download', '-q', ...packages], { cwd: folder, encoding: 'utf8' });
  try {
    if (download().status !== 0) {
      spawnSync('apt-get', ['update', '-q'], { stdio: 'ignore' });
      const { status, stderr, error } = download();
      if (status !== 0) {
        throw new Error(`apt-get cannot download ${packages.join(' ')}: ${error ?? stderr.trim()}`);
      }
    }
    const draft = join(folder, 'root');
    for (const name of readdirSync(folder).filter((one) => one.endsWith('.deb'))) {
      execFileSync('dpkg', ['-x', join(folder, name), draft]);
    }
    complete(draft);
    renameSync(draft, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
