/** Chooses the test files that can notice a change of a source file, from imports and folders. */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { roomOf, testFoldersOf } from './rooms.ts';

/** The test files of a source file. */
export interface NearTests {
  /** Files that import the source file, have its name, or name it, as tests of jobs do. */
  readonly direct: readonly string[];
  /** Unit tests that import it through few others, and all tests of its room. */
  readonly further: readonly string[];
}

const importPattern = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;
/** Imports between a unit test and a source file, at most. Beyond, nearly every test reaches every file. */
const stepsMax = 5;

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
    const further = tests.filter(
      (test) =>
        !direct.includes(test) &&
        (inFolders.includes(test) || (test.startsWith('test/unit/') && reaching.has(test))),
    );
    return { direct, further };
  };
}

function hasName(test: string, file: string): boolean {
  const name = basename(file, '.ts');
  const own = basename(test, '.test.ts');
  return own === name || own.startsWith(`${name}-`);
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
