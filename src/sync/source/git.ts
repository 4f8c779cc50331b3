/** Knows how manifests are read from a Git repository: its objects, never a checkout. */
import { createHash } from 'node:crypto';
import { Failure } from '../../failure.ts';
import { refuseExcess } from './folder.ts';
import type { GitAccess } from './git-command.ts';
import { describeGit, type GitLocation, parseGitLocation } from './git-location.ts';
import { type Entry, GitMirror } from './git-mirror.ts';
import { GitRemote } from './git-remote.ts';
import {
  caseTwinFaults,
  fileFault,
  infoOf,
  isIgnoredName,
  isManifestName,
  type Source,
  type SourceFault,
  type SourceFiles,
} from './source-files.ts';

export interface GitSourceOptions {
  /** Folder for bare mirrors; made when missing. */
  readonly cacheDirectory: string;
  readonly access: GitAccess;
  readonly signal?: AbortSignal | undefined;
  /** Longest time for one command of git. */
  readonly timeoutMs?: number | undefined;
}

const timeoutMsDefault = 60_000;

/**
 * A repository at `URL#ref:path`. One commit is pinned for the whole of a read; only plain files are
 * taken, and a symbolic link or submodule among them is a fault, because what it stands for would
 * silently be missing.
 *
 * @throws Failure (invalid input) when the location is not one that may be used
 */
export function openGit(text: string, options: GitSourceOptions): Source {
  const location = parseGitLocation(text);
  const { cacheDirectory, access, signal, timeoutMs = timeoutMsDefault } = options;
  const gitOptions = { cacheDirectory, access, signal, timeoutMs };
  const remote = new GitRemote(location, gitOptions);
  const mirror = new GitMirror(remote, mirrorName(location), gitOptions);
  return {
    describe: describeGit(location),
    newest: async () => ({ digest: null, revision: (await remote.resolve()).commit }),
    read: () => readCommit(location, remote, mirror),
  };
}

function mirrorName({ url, ref }: GitLocation): string {
  return createHash('sha256')
    .update(`${url}#${ref ?? ''}`)
    .digest('hex')
    .slice(0, 32);
}

async function readCommit(
  location: GitLocation,
  remote: GitRemote,
  mirror: GitMirror,
): Promise<SourceFiles> {
  const resolved = await remote.resolve();
  await mirror.fetch(resolved);
  const { commit } = resolved;
  const entries = await mirror.list(commit, location.path);
  if (entries === undefined) {
    const where = `"${location.path}" in commit ${commit.slice(0, 12)}`;
    throw new Failure('invalidInput', `${describeGit(location)} has no folder ${where}`);
  }
  const faults: SourceFault[] = [];
  const wanted = entries.filter((entry) => isWanted(entry, faults));
  refuseExcess(wanted.length, 0);
  const files = await mirror.read(wanted, faults);
  faults.push(...caseTwinFaults(files.map(({ path }) => path)));
  return { files, faults, info: infoOf(describeGit(location), commit, files), prefix: '' };
}

function isWanted(entry: Entry, faults: SourceFault[]): boolean {
  const { mode, path } = entry;
  const parts = path.split('/');
  if (parts.some(isIgnoredName)) {
    return false;
  }
  const refuse = (code: string, message: string, fix: string): false => {
    faults.push(fileFault(path.replaceAll(/[^\x20-\x7e]/g, '?'), code, message, fix));
    return false;
  };
  if (mode === '160000') {
    const fix = 'put the manifests into this repository';
    return refuse('submodule', 'submodules are not read', fix);
  }
  if (mode === '120000') {
    const fix = 'replace the link by the file or folder itself';
    return refuse('symbolic-link', 'symbolic links are not followed in Git', fix);
  }
  if (!isManifestName(path)) return false;
  if (mode !== '100644' && mode !== '100755') {
    return refuse('file-mode', `the mode ${mode} is not that of a plain file`, 'commit it again');
  }
  if (/[\\\u0000-\u001f\u007f]/.test(path) || path.includes('\uFFFD')) {
    return refuse('file-name', 'the name holds characters that are not allowed', 'rename the file');
  }
  return true;
}
