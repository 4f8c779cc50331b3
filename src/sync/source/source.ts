/** Knows which kind of source a location names: standard input, a Git repository, a folder or a file. */
import { openFolder, openStdin } from './folder.ts';
import { openGit } from './git.ts';
import type { GitAccess } from './git-command.ts';
import { isGitLocation } from './git-location.ts';
import { byCodeUnits, infoOf, type Source, type SourceFiles } from './source-files.ts';

export interface SourceOptions {
  /** Where relative locations begin. */
  readonly cwd: string;
  /** Folder of this program for what it may fetch again at any time. */
  readonly cacheDirectory: string;
  readonly git?: GitAccess | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Read for the location `-`. */
  readonly stdin?: AsyncIterable<Buffer | string> | undefined;
}

/** What stands for standard input: `-`, and the names that the system has for it. */
export function isStandardInput(location: string): boolean {
  return ['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'].includes(location);
}

/**
 * Opens `-` (standard input), a Git URL (`https://host/repo.git#ref:folder`, `ssh://…`,
 * `git@host:repo.git#ref`), or a folder or file. Nothing is read yet.
 *
 * @throws Failure 5 for a Git location that may not be used
 */
export function openSource(location: string, options: SourceOptions): Source {
  if (isStandardInput(location) && options.stdin !== undefined) return openStdin(options.stdin);
  if (!isGitLocation(location)) return openFolder(location, options.cwd);
  const { cacheDirectory, git: access = {}, signal } = options;
  return openGit(location, { cacheDirectory, access, signal });
}

/**
 * Reads several locations as one source. Each file is named by the way from the working directory
 * to it, so that names of different locations stay apart.
 *
 * @throws Failure as {@link openSource} and {@link Source.read}
 */
export async function readSources(
  locations: readonly string[],
  options: SourceOptions,
): Promise<SourceFiles> {
  const read: SourceFiles[] = [];
  for (const location of locations) read.push(await openSource(location, options).read());
  const files = read
    .flatMap(({ files, prefix }) => files.map((file) => ({ ...file, path: prefix + file.path })))
    .sort((one, two) => byCodeUnits(one.path, two.path));
  const faults = read.flatMap(({ faults, prefix }) =>
    faults.map(({ position, ...fault }) => ({
      ...fault,
      position: { ...position, file: prefix + position.file },
    })),
  );
  const ignored = read.flatMap(({ ignored, prefix }) => ignored.map((path) => prefix + path));
  const repo = read.map(({ info }) => info.repo).join(' ');
  const revision = read.length === 1 ? (read[0]?.info.revision ?? null) : null;
  return { files, faults, ignored, info: infoOf(repo, revision, files), prefix: '' };
}
