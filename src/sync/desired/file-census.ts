/**
 * Tracks which files of a source contain manifests, and which documents belong to other programs.
 */

import type { LeftAlone, Position, SourceInfo } from '../resources/resource-set.ts';
import { infoOf, type SourceFile, type SourceFiles } from '../source/source-files.ts';

/** Counts the files of one source as they are read. */
export class FileCensus {
  readonly #held: SourceFile[] = [];
  readonly #foreignFiles: string[] = [];
  readonly #foreignDocuments: string[] = [];

  /**
   * @param foreign positions of documents of other programs
   * @param isHeld whether the file contains manifests, as far as readable
   * @returns whether the file was named explicitly and contains none
   */
  take(file: SourceFile, foreign: readonly Position[], isHeld: boolean): boolean {
    if (isHeld) {
      this.#held.push(file);
      this.#foreignDocuments.push(...foreign.map(({ file: path, line }) => `${path}:${line}`));
      return false;
    }
    if (file.isNamed && foreign.length > 0) return true;
    if (foreign.length > 0) this.#foreignFiles.push(file.path);
    return false;
  }

  leftAlone({ ignored, environments = [] }: SourceFiles): LeftAlone {
    return {
      ignored,
      otherEnvironments: environments.filter(({ isChosen }) => !isChosen).map(({ path }) => path),
      foreignFiles: this.#foreignFiles,
      foreignDocuments: this.#foreignDocuments,
    };
  }

  /** Other documents do not change the version of the source: a plan may be written next to it. */
  source({ repo, revision, environment }: SourceInfo): SourceInfo {
    return infoOf(repo, revision, this.#held, environment);
  }
}
