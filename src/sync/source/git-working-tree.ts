/** Locates a folder at an earlier commit of the Git working tree that contains it. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Failure } from '../../failure.ts';
import { type GitOptions, runGit } from './git-command.ts';
import { describeGit } from './git-location.ts';

export interface EarlierFolder {
  /** Location of a Git source; null when the commit has no such folder. */
  readonly location: string | null;
  readonly commit: string;
}

const answerBytesMax = 64 * 1024;

/**
 * Returns the folder at a commit named as for git: a branch, a tag, `origin/main`, `HEAD~2`.
 *
 * @param folder absolute path
 * @throws Failure (invalid input) when it is not a folder in a working tree, or the name is not a
 *   commit
 */
export async function folderAt(
  folder: string,
  ref: string,
  options: Omit<GitOptions, 'timeoutMs' | 'fetchBytesMax'>,
): Promise<EarlierFolder> {
  const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory();
  if (isFolder === undefined) throw refused(`there is no folder ${folder}`);
  if (!isFolder) {
    throw refused(`${folder} is a file; name its folder, and select a part of it by --workspace`);
  }
  const ask = async (...words: string[]): Promise<string | undefined> => {
    const command = {
      arguments: ['rev-parse', ...words],
      repository: folder,
      speaks: 'none' as const,
      outputBytesMax: answerBytesMax,
    };
    const run = await runGit(command, { ...options, timeoutMs, fetchBytesMax: 0 });
    if (/dubious ownership/.test(run.stderr)) {
      throw refused(
        `${folder} belongs to another user, and git does not read such repositories; run this as that user, or \
compare two refs of a Git URL`,
      );
    }
    return run.status === 0 ? run.stdout.toString('utf8').replace(/\n$/, '') : undefined;
  };
  const top = await ask('--show-toplevel');
  if (top === undefined) throw refused(`${folder} is not in a Git working tree`);
  const prefix = ((await ask('--show-prefix')) ?? '').replace(/\/$/, '');
  const commit = await ask('--verify', '--quiet', '--end-of-options', `${ref}^{commit}`);
  if (commit === undefined) {
    throw refused(`${ref} is not a commit of ${top}; a shallow clone has to fetch it first`);
  }
  const tree = await ask('--verify', '--quiet', '--end-of-options', `${commit}:${prefix}`);
  if (tree === undefined) return { location: null, commit };
  const url = pathToFileURL(join(top, '/')).href.replace(/\/$/, '');
  return { location: describeGit({ url, protocol: 'file', ref: commit, path: prefix }), commit };
}

const timeoutMs = 20_000;

function refused(reason: string): Failure {
  return new Failure('invalidInput', `--base: ${reason}.`);
}
