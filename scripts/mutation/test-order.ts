/** Orders the test files that reach a mutant, nearest first, within a time for one mutant. */

/** The measurements of a test file in a run without mutants. */
export interface FileCoverage {
  readonly ms: number;
  /** Ids of the mutants that the tests of the file reach. */
  readonly mutants: readonly string[];
}

/**
 * Tests that import the mutated file come first, then unit tests, then the files that reach the
 * fewest other mutants. Code that runs while a module is loaded or before the first test belongs to
 * no test, so that every file may reach a mutant in it; those that certainly do come first.
 */
export function rankTests({
  files,
  mutant,
  direct,
  isStatic,
  testMsMax,
}: {
  readonly files: Readonly<Record<string, FileCoverage>>;
  readonly mutant: string;
  readonly direct: readonly string[];
  /** Whether the mutated code runs outside of tests. */
  readonly isStatic: boolean;
  /** Milliseconds; the first file runs whatever its duration. */
  readonly testMsMax: number;
}): { readonly chosen: string[]; readonly omitted: string[] } {
  const reaches = (path: string) => files[path]!.mutants.includes(mutant);
  const rank = (path: string) =>
    (direct.includes(path) ? 0 : 4) +
    (reaches(path) ? 0 : 2) +
    (path.startsWith('test/unit/') ? 0 : 1);
  const ranked = Object.keys(files)
    .filter((path) => isStatic || reaches(path))
    .toSorted(
      (one, other) =>
        rank(one) - rank(other) ||
        files[one]!.mutants.length - files[other]!.mutants.length ||
        files[one]!.ms - files[other]!.ms,
    );
  const chosen: string[] = [];
  const omitted: string[] = [];
  let ms = 0;
  for (const path of ranked) {
    if (chosen.length === 0 || ms + files[path]!.ms <= testMsMax) {
      chosen.push(path);
      ms += files[path]!.ms;
    } else {
      omitted.push(path);
    }
  }
  return { chosen, omitted };
}
