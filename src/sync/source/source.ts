/** Opens the source of a location: standard input, a Git repository, a folder or a file. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { requireEnvironment } from './environments.ts';
import { openFolder, openStdin } from './folder.ts';
import { openGit } from './git.ts';
import type { GitAccess } from './git-command.ts';
import { isGitLocation } from './git-location.ts';
import {
  byCodeUnits,
  infoOf,
  type Source,
  type SourceFile,
  type SourceFiles,
} from './source-files.ts';

export interface SourceOptions {
  /** Base of relative locations. */
  readonly cwd: string;
  /** Cache folder of this program. */
  readonly cacheDirectory: string;
  readonly git?: GitAccess | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Read for the location `-`. */
  readonly stdin?: Readable | undefined;
  /** The environment to read, null for none; undefined treats all files alike. */
  readonly environment?: string | null | undefined;
}

/** Returns whether a location is standard input: `-`, or a system name for it. */
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
  const { cacheDirectory, git: access = {}, signal, stdin, environment } = options;
  if (isStandardInput(location) && stdin !== undefined) return openStdin(stdin, signal);
  if (!isGitLocation(location)) return openFolder(location, options.cwd, environment);
  return openGit(location, { cacheDirectory, access, signal, environment });
}

/**
 * Opens several locations as one source. Files are named by their path from the working directory,
 * so that names of different locations do not collide. `newest` returns one digest for all.
 *
 * @throws Failure as {@link openSource}
 */
export function openCombinedSource(locations: readonly string[], options: SourceOptions): Source {
  const sources = locations.map((location) => openSource(location, options));
  const [only] = sources;
  if (only !== undefined && sources.length === 1) {
    return { ...only, read: async () => together([await only.read()], options) };
  }
  return {
    describe: sources.map(({ describe }) => describe).join(' '),
    newest: async () => {
      const versions = await Promise.all(sources.map((source) => source.newest()));
      const all = versions.map(({ digest, revision }) => digest ?? revision).join(' ');
      const signatures = versions.flatMap((version) => version.signatures ?? []).join(' ');
      const digest = createHash('sha256').update(all).digest('hex');
      return { digest, revision: null, ...(signatures === '' ? {} : { signatures }) };
    },
    read: async () => {
      const read: SourceFiles[] = [];
      for (const source of sources) read.push(await source.read());
      return together(read, options);
    },
  };
}

/** Reads several locations as one source, once; see {@link openCombinedSource}. */
export async function readSources(
  locations: readonly string[],
  options: SourceOptions,
): Promise<SourceFiles> {
  return await openCombinedSource(locations, options).read();
}

/** @throws Failure (invalid input) see {@link requireEnvironment} */
function together(
  read: readonly SourceFiles[],
  { environment }: Pick<SourceOptions, 'environment'>,
): SourceFiles {
  const environments = read.flatMap(({ environments: met = [], prefix }) =>
    met.map((folder) => ({ ...folder, path: prefix + folder.path })),
  );
  requireEnvironment(environments, environment);
  const files = read
    .flatMap((part, location) => filesOf(part, location))
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
  const info = infoOf(repo, revision, files, environment);
  return { files, faults, ignored, environments, info, prefix: '' };
}

/** Names each file by its path from the working directory. */
function filesOf({ files, environments, prefix }: SourceFiles, location: number): SourceFile[] {
  const folder = environments?.find(({ isChosen }) => isChosen)?.path;
  return files.map((file) => {
    const path = prefix + file.path;
    if (folder === undefined || !file.path.startsWith(folder)) return { ...file, path, location };
    return { ...file, path, location, inEnvironment: file.path.slice(folder.length) };
  });
}
