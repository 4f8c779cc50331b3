/** Finds the lines of the mutated rooms that differ from a base commit. */
import { execFileSync } from 'node:child_process';
import { roomOf } from './rooms.ts';

export type ChangedLines =
  | { readonly base: string; readonly lines: ReadonlyMap<string, ReadonlySet<number>> }
  | { readonly missing: string };

const dayS = 86_400;

/**
 * Returns why there is nothing to compare with when no base is named and the clone has none.
 *
 * @throws Error when the clone does not have the named base
 */
export function findChangedLines(wanted: string | null): ChangedLines {
  const base = wanted === null ? usualBase() : commitOf(wanted);
  if (base === null) {
    if (wanted !== null) throw new Error(`the clone has no commit ${wanted}`);
    return { missing: 'the clone has no commit to compare with, name one: --changed BASE' };
  }
  const flags = ['--unified=0', '--no-color', '--no-ext-diff', '--diff-filter=d'];
  const diff = git('diff', ...flags, base, '--', 'src');
  if (diff === undefined) throw new Error(`git diff ${base} failed`);
  return { base, lines: readDiff(diff) };
}

/** Where the branch left main; on main itself, the newest commit a day older than the last one. */
function usualBase(): string | null {
  const head = commitOf('HEAD');
  if (head === null) return null;
  for (const main of ['main', 'origin/main']) {
    const fork = git('merge-base', 'HEAD', main)?.trim();
    if (fork !== undefined && fork !== head) return fork;
  }
  const headAt = Number(git('log', '-1', '--format=%ct', 'HEAD'));
  const older = git(
    'rev-list',
    '-1',
    '--first-parent',
    `--before=${headAt - dayS}`,
    'HEAD',
  )?.trim();
  return older === undefined || older === '' ? null : older;
}

function commitOf(name: string): string | null {
  return git('rev-parse', '--verify', '--quiet', `${name}^{commit}`)?.trim() ?? null;
}

/** Returns the output; undefined when git fails, as it does for unknown commits. */
function git(...words: string[]): string | undefined {
  try {
    return execFileSync('git', words, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 2 ** 28,
    });
  } catch {
    return undefined;
  }
}

/** Reads the new lines by file of a diff without context, only of files of the rooms. */
export function readDiff(diff: string): ReadonlyMap<string, ReadonlySet<number>> {
  const changed = new Map<string, Set<number>>();
  let lines: Set<number> | null = null;
  for (const text of diff.split('\n')) {
    const file = text.match(/^\+\+\+ b\/(.+)$/)?.[1];
    if (file !== undefined) {
      const isMutated = file.endsWith('.ts') && roomOf(file) !== null;
      lines = isMutated ? new Set() : null;
      if (lines !== null) changed.set(file, lines);
    }
    const [, first, count = '1'] = text.match(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/) ?? [];
    for (let index = 0; first !== undefined && index < Number(count); index += 1) {
      lines?.add(Number(first) + index);
    }
  }
  return changed;
}
