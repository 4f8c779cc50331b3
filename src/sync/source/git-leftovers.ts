/** Knows what a git that was killed leaves in a repository, and when it is nobody's any more. */
import { existsSync, readdirSync, rmSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** What git locks while it fetches. */
const locked = [
  'shallow',
  'config',
  'packed-refs',
  'refs/gatewright/source',
  'refs/gatewright/judged',
];

/** git writes in blocks; the last one may be missing whole. */
const blockBytesMax = 64 * 1024;

/** Removes what is older than any git that may still run. */
export function removeOld(repository: string, ageMsMax: number): void {
  const all = [...locksIn(repository), ...unfinishedPacksIn(repository)];
  removeWhere(all, ({ mtimeMs }) => Date.now() - mtimeMs > ageMsMax);
}

/**
 * Removes the locks of a git that has just been killed. It may have been that of another which began
 * meanwhile: then the other fails, and is tried again.
 *
 * @param startedAt of the git that was killed, ms since the epoch
 */
export function removeLocksSince(repository: string, startedAt: number): void {
  removeWhere(locksIn(repository), ({ mtimeMs }) => mtimeMs >= startedAt - 1);
}

/**
 * Removes packs that were cut off at a bound, and tells whether there were any: git dies of it, and
 * does not say so each time.
 */
export function removeCutOff(repository: string, bytesMax: number): boolean {
  const packs = unfinishedPacksIn(repository);
  return removeWhere(packs, ({ size }) => size >= bytesMax - blockBytesMax);
}

function locksIn(repository: string): string[] {
  return locked.map((name) => join(repository, `${name}.lock`));
}

function unfinishedPacksIn(repository: string): string[] {
  const folder = join(repository, 'objects/pack');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith('tmp_')).map((name) => join(folder, name));
}

function removeWhere(paths: readonly string[], isMeant: (facts: Stats) => boolean): boolean {
  const meant = paths.filter((path) => {
    const facts = statSync(path, { throwIfNoEntry: false });
    return facts !== undefined && isMeant(facts);
  });
  for (const path of meant) rmSync(path, { force: true });
  return meant.length > 0;
}
