/** Chooses the test files that can notice a change of a source file, from imports and folders. */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { roomOf, testFoldersOf } from './rooms.ts';

/** The test files of a source file. */
export interface NearTests {
  /** Files that import the source file, have its name, or name it, as tests of jobs do. */
  readonly direct: readonly string[];
  /** Files with words of its name, unit tests that import it through few others, and all of its room. */
  readonly further: readonly string[];
}

const importPattern = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;
/** Imports between a unit test and a source file, at most. Beyond, nearly every test reaches every file. */
const stepsMax = 6;

/** Tests that are chosen by the words of their paths. */
const similarMax = 4;
/** Test files of one source file in a short run. */
const fewTestsMax = 8;
const fewDatabaseTestsMax = 2;

/** Returns those for a short run: importers come first, and unit tests before tests with a database. */
export function fewTests({ direct, further }: NearTests): string[] {
  const isUnit = (test: string) => !needsDatabase(test);
  const database = [...direct, ...further].filter(needsDatabase).slice(0, fewDatabaseTestsMax);
  const unit = [...direct.filter(isUnit), ...further.filter(isUnit)];
  return [...unit.slice(0, fewTestsMax - database.length), ...database];
}

export function needsDatabase(test: string): boolean {
  return test.startsWith('test/api/');
}

/** Returns a function that finds the tests of a source file; reads all imports once. */
export function readTests(): (file: string) => NearTests {
  const tests = globSync('test/{unit,api}/**/*.test.ts').sort();
  const importers = readImporters([...tests, ...globSync('{src,test}/**/*.ts')]);
  const sources = new Map(tests.map((test) => [test, readFileSync(test, 'utf8')]));
  return (file) => {
    const room = roomOf(file);
    const folders = room === null ? [] : testFoldersOf(room);
    const inFolders = tests.filter((test) => folders.some((one) => test.startsWith(`${one}/`)));
    const importing = importers.get(file) ?? new Set<string>();
    const direct = tests.filter(
      (test) =>
        importing.has(test) ||
        (inFolders.includes(test) && hasName(test, file)) ||
        namesJob(sources.get(test)!, file),
    );
    const reaching = reachingFiles(file, importers);
    const named = similarNames(file, tests.filter(needsDatabase));
    const others = tests.filter(
      (test) => inFolders.includes(test) || (test.startsWith('test/unit/') && reaching.has(test)),
    );
    const further = [...new Set([...named, ...others])].filter((test) => !direct.includes(test));
    return { direct, further };
  };
}

function hasName(test: string, file: string): boolean {
  const name = basename(file, '.ts');
  const own = basename(test, '.test.ts');
  return own === name || own.startsWith(`${name}-`);
}

/**
 * Returns the tests whose paths share the most words with the name of a file, best first: tests of
 * whole requests import no module that they verify.
 */
function similarNames(file: string, tests: readonly string[]): string[] {
  const words = wordsOf(basename(file, '.ts'));
  const shared = (test: string) => {
    const own = wordsOf(test.slice(0, -'.test.ts'.length));
    return [...words].filter((word) => own.has(word)).length;
  };
  return tests
    .map((test) => ({ test, count: shared(test) }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count)
    .slice(0, similarMax)
    .map(({ test }) => test);
}

/** The words of a path, without the plural: `prompt`, `collection`. */
function wordsOf(path: string): ReadonlySet<string> {
  return new Set(path.split(/[/-]/).map((word) => word.replace(/s$/, '')));
}

/** A job has the name of its file: `'delete-old-usage'`. */
function namesJob(source: string, file: string): boolean {
  return roomOf(file) === 'jobs' && source.includes(`'${basename(file, '.ts')}'`);
}

/** Files that import a file in at most as many steps as count. */
function reachingFiles(
  file: string,
  importers: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const reaching = new Set<string>();
  let latest = new Set([file]);
  for (let step = 0; step < stepsMax; step += 1) {
    const next = new Set<string>();
    for (const one of latest) {
      for (const importer of importers.get(one) ?? []) {
        if (!reaching.has(importer)) next.add(importer);
        reaching.add(importer);
      }
    }
    latest = next;
  }
  return reaching;
}

/** Returns the files that import each file. */
function readImporters(files: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  for (const file of new Set(files)) {
    for (const [, path] of readFileSync(file, 'utf8').matchAll(importPattern)) {
      const imported = join(dirname(file), path!);
      const known = importers.get(imported) ?? new Set();
      importers.set(imported, known.add(file));
    }
  }
  return importers;
}
