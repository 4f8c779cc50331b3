/** Defines what reading a source returns: files, faults and version. */
import { createHash } from 'node:crypto';
import type { SourceInfo, SourceNote } from '../resources/resource-set.ts';
import type { EnvironmentFolder } from './environments.ts';

export const ignoreFileName = '.gatewrightignore';
export const fileBytesMax = 1024 * 1024;
export const filesMax = 20_000;
export const totalBytesMax = 64 * 1024 * 1024;

/** One fault in the source. */
export type SourceFault = SourceNote;

export interface SourceFile {
  /** Relative to the source root, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  /** The user named this file, so it must contain manifests. */
  readonly isNamed?: boolean | undefined;
  /** Path relative to the selected environment's folder; absent for files outside. */
  readonly inEnvironment?: string | undefined;
  /** Index of its location; 0 when absent. */
  readonly location?: number | undefined;
}

/** Everything that was read of one version of a source. */
export interface SourceFiles {
  /** Ordered by path. */
  readonly files: readonly SourceFile[];
  /** Files that were refused unread (symlinks, size). With any fault nothing is applied. */
  readonly faults: readonly SourceFault[];
  /** Files and folders (with a trailing `/`) that a `.gatewrightignore` excludes, in order. */
  readonly ignored: readonly string[];
  /** Absent where environment folders have no meaning. */
  readonly environments?: readonly EnvironmentFolder[] | undefined;
  readonly info: SourceInfo;
  /** Prefix from the working directory to the paths of the files: '', or a folder and `/`. */
  readonly prefix: string;
}

/**
 * The version of a source without reading all of it; one of the first two is set and changes with
 * it.
 */
export interface SourceVersion {
  readonly digest: string | null;
  readonly revision: string | null;
  /** Changes with the signing keys that are permitted; absent without required signatures. */
  readonly signatures?: string | undefined;
}

/** Relation of a commit to an earlier one: `unproven` when too many commits lie between them. */
export type Descent = 'descendant' | 'unrelated' | 'unproven';
/** Maximum number of commits searched for the earlier one. */
export const descentCommitsMax = 16_384;

export interface Source {
  /** The folder, or the Git URL with ref and path, for messages; never a credential. */
  readonly describe: string;
  /** @throws Failure 5 when the place does not exist, 6 when it is unreachable. */
  newest(): Promise<SourceVersion>;
  /**
   * @throws Failure as `newest`, 4 without the required signatures, and 5 when a limit on the
   *   number or size of files is exceeded.
   */
  read(): Promise<SourceFiles>;
  /**
   * For Git only: returns whether the commit that was read descends from an earlier one.
   *
   * @throws Failure as `newest`, and 7 when the ref has moved meanwhile
   */
  descent?(earlier: string, commit: string): Promise<Descent>;
}

/** Hidden files and folders and installed packages do not belong to a source. */
export function isIgnoredName(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

export function isManifestName(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name);
}

/** Compares by code units, the same in every locale. */
export function byCodeUnits(one: string, two: string): number {
  return one < two ? -1 : one > two ? 1 : 0;
}

/**
 * Describes a source; its digest is computed on first access, because not every command needs it.
 */
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

/** Returns a hash over names and contents of files in path order, hexadecimal. */
export function digestOf(files: readonly SourceFile[]): string {
  const hash = createHash('sha256');
  for (const { path, content } of files) {
    hash.update(`${Buffer.byteLength(path)}:${path}:${content.length}:`);
    hash.update(content);
  }
  return hash.digest('hex');
}

/** Returns a fault of a whole file. */
export function fileFault(path: string, code: string, message: string, fix?: string): SourceFault {
  return { position: { file: path, line: 1, column: 1 }, code, message, fix };
}

/** Orders faults by position, so that equal sources give equal reports. */
export function byPlace(one: SourceFault, two: SourceFault): number {
  return (
    byCodeUnits(one.position.file, two.position.file) ||
    one.position.line - two.position.line ||
    one.position.column - two.position.column ||
    byCodeUnits(one.code, two.code) ||
    byCodeUnits(one.message, two.message)
  );
}

/** Paths that differ only in case: one file on some systems, two on others. */
export function caseTwinFaults(paths: readonly string[]): SourceFault[] {
  const seen = new Map<string, string>();
  return paths.flatMap((path) => {
    const twin = seen.get(path.toLowerCase());
    seen.set(path.toLowerCase(), twin ?? path);
    if (twin === undefined) return [];
    const message = `the name differs from ${twin} only in upper and lower case`;
    return [fileFault(path, 'case-twin', message, 'rename one of the two')];
  });
}
