/** Knows what a source of manifests hands over: files, faults found on the way, and a mark of the version. */
import { createHash } from 'node:crypto';
import type { SourceInfo, SourceNote } from '../resources/resource-set.ts';
import type { EnvironmentFolder } from './environments.ts';

export const ignoreFileName = '.gatewrightignore';
export const fileBytesMax = 1024 * 1024;
export const filesMax = 20_000;
export const totalBytesMax = 64 * 1024 * 1024;

/** One mistake in the source. */
export type SourceFault = SourceNote;

export interface SourceFile {
  /** Relative to the source root, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  /** The user named this very file, so that it has to hold manifests. */
  readonly isNamed?: boolean | undefined;
  /** The way to it from the folder of the environment that was chosen; absent where it is not in there. */
  readonly inEnvironment?: string | undefined;
  /** Which of several locations it was read from, from 0; 0 where it is left out. */
  readonly location?: number | undefined;
}

/** Everything that was read of one version of a source. */
export interface SourceFiles {
  /** Ordered by path. */
  readonly files: readonly SourceFile[];
  /** Files that were refused unread (symlinks, size). Any fault means: apply nothing. */
  readonly faults: readonly SourceFault[];
  /** Files and folders (with a `/` at the end) that a `.gatewrightignore` leaves out, in order. */
  readonly ignored: readonly string[];
  /** Absent where folders of environments mean nothing. */
  readonly environments?: readonly EnvironmentFolder[] | undefined;
  readonly info: SourceInfo;
  /** What leads from the working directory to the paths of the files: '', or a folder and `/`. */
  readonly prefix: string;
}

/** What stands now in a source, without reading it all: one of the first two is set and changes with it. */
export interface SourceVersion {
  readonly digest: string | null;
  readonly revision: string | null;
  /** What is asked of its signatures: it changes with the keys that count. Absent where nothing is. */
  readonly signatures?: string | undefined;
}

/** How a commit stands to an earlier one: `unproven` where too many lie between them to tell. */
export type Descent = 'descendant' | 'unrelated' | 'unproven';
/** How far back is looked for the earlier one. */
export const descentCommitsMax = 16_384;

export interface Source {
  /** For messages: the folder, or the Git URL with ref and path; never a credential. */
  readonly describe: string;
  /**
   * @throws Failure 5 when the place does not exist, 6 when it cannot be reached.
   */
  newest(): Promise<SourceVersion>;
  /**
   * @throws Failure as `newest`, 4 when it does not carry the signatures that it has to, and 5 when a limit on the number or size of all files is exceeded.
   */
  read(): Promise<SourceFiles>;
  /**
   * Of Git only: whether the commit that was read comes after an earlier one.
   *
   * @throws Failure as `newest`, and 7 when the ref has moved on meanwhile
   */
  descent?(earlier: string, commit: string): Promise<Descent>;
}

/** Hidden files and folders and installed packages are no part of a source. */
export function isIgnoredName(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

export function isManifestName(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name);
}

/** Order of code units, the same in every locale. */
export function byCodeUnits(one: string, two: string): number {
  return one < two ? -1 : one > two ? 1 : 0;
}

/** Describes a source whose digest is made when it is first asked for: not every command asks. */
export function infoOf(
  repo: string,
  revision: string | null,
  files: readonly SourceFile[],
  environment: string | null = null,
): SourceInfo {
  let digest: string | undefined;
  return {
    repo,
    revision,
    environment,
    get digest() {
      digest ??= digestOf(files);
      return digest;
    },
  };
}

/** Hash over names and contents of files in path order, hex. */
export function digestOf(files: readonly SourceFile[]): string {
  const hash = createHash('sha256');
  for (const { path, content } of files) {
    hash.update(`${Buffer.byteLength(path)}:${path}:${content.length}:`);
    hash.update(content);
  }
  return hash.digest('hex');
}

/** A fault about a file as a whole. */
export function fileFault(path: string, code: string, message: string, fix?: string): SourceFault {
  return { position: { file: path, line: 1, column: 1 }, code, message, fix };
}

/** Orders faults by place, so that the same source always reports the same text. */
export function byPlace(one: SourceFault, two: SourceFault): number {
  return (
    byCodeUnits(one.position.file, two.position.file) ||
    one.position.line - two.position.line ||
    one.position.column - two.position.column ||
    byCodeUnits(one.code, two.code) ||
    byCodeUnits(one.message, two.message)
  );
}

/** Paths that differ in case only: one file on some systems, two on others. */
export function caseTwinFaults(paths: readonly string[]): SourceFault[] {
  const seen = new Map<string, string>();
  return paths.flatMap((path) => {
    const twin = seen.get(path.toLowerCase());
    seen.set(path.toLowerCase(), twin ?? path);
    if (twin === undefined) return [];
    const message = `the name differs from ${twin} in upper and lower case only`;
    return [fileFault(path, 'case-twin', message, 'rename one of the two')];
  });
}
