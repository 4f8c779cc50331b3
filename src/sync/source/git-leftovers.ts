/** Removes what a killed git leaves in a repository, when it has no owner any more. */
import { existsSync, readdirSync, rmSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** Files that git locks during a fetch. */
const locked = [
  'shallow',
  'config',
  'packed-refs',
  'refs/gatewright/source',
  'refs/gatewright/judged',
];

/** git writes in blocks; the last one may be missing completely. */
const blockBytesMax = 64 * 1024;

/** Removes files that are older than any running git can be. */
export function removeOld(repository: string, ageMsMax: number): void {
  const all = [...locksIn(repository), ...unfinishedPacksIn(repository)];
  removeWhere(all, ({ mtimeMs }) => Date.now() - mtimeMs > ageMsMax);
}

/**
 * Removes the locks of a git that was just killed. They may belong to another git that started
 * meanwhile; that one then fails and is retried.
 *
 * @param startedAt start of the killed git, ms since the epoch
 */
export function removeLocksSince(repository: string, startedAt: number): void {
  removeWhere(locksIn(repository), ({ mtimeMs }) => mtimeMs >= startedAt - 1);
}

/**
 * Removes packs that were truncated at the size limit, and returns whether there were any: git
 * fails then, but does not always say why.
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
