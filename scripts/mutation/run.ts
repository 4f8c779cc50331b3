/** Runs `npm run mutation`: draws mutants, runs the tests that can notice them, and judges the score. */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChanged } from './changed-run.ts';
import { changeOf, listMutants, type Mutant, placeOf } from './mutants.ts';
import { fewTests, readTests } from './near-tests.ts';
import { help, type MutationOptions, readOptions } from './options.ts';
import { type JudgedMutant, judge, scoreOf } from './outcomes.ts';
import { printScore, printSurvivors } from './print.ts';
import { draw } from './sample.ts';
import { cacheFolder, RunInterruption, readDurations, root, runStryker } from './stryker-run.ts';
import { findStale, readSurvivors, survivorsFile } from './survivors.ts';

/** Tests that run for one mutant at most: milliseconds that they take without it. */
const testMsMax = 20_000;

/** The exit code of a program that SIGINT ends. */
const interruptedCode = 130;

process.chdir(root);
process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  let options: MutationOptions | 'help';
  try {
    options = readOptions(words);
  } catch (error) {
    console.error(`${(error as Error).message}; see npm run mutation -- --help`);
    return 5;
  }
  if (options === 'help') {
    console.log(help);
    return 0;
  }
  const stale = await findStale(readSurvivors(), existsSync);
  for (const { file, change } of stale) {
    console.log(`stale: ${survivorsFile}: ${file}: ${change} is no mutant of the code, delete it`);
  }
  try {
    const code = await runScope(options);
    return stale.length > 0 ? 1 : code;
  } catch (error) {
    if (!(error instanceof RunInterruption)) throw error;
    console.error(error.message);
    return interruptedCode;
  }
}

async function runScope(options: MutationOptions): Promise<number> {
  const { scope } = options;
  if (scope.kind === 'changed') return await runChanged(scope.base, options);
  if (scope.kind === 'paths') {
    const missing = scope.paths.find((path) => !existsSync(path));
    if (missing !== undefined) {
      console.error(`${missing} does not exist; see npm run mutation -- --help`);
      return 5;
    }
    return runSample(scope.paths.join(' '), scope.paths.flatMap(sourcesOf), options);
  }
  let code = 0;
  for (const room of scope.rooms) {
    code = Math.max(code, await runSample(room, sourcesOf(`src/${room}`), options));
  }
  return code;
}

function sourcesOf(path: string): string[] {
  return path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.ts`).sort();
}

async function runSample(
  name: string,
  files: readonly string[],
  { sample, seed, seconds, again, quick, scoreMin }: MutationOptions,
): Promise<number> {
  const population = await listMutants(files);
  const known = again ? readKnown(name, population) : [];
  const repeated = known.map(({ mutant }) => mutant);
  const repeatedPlaces = new Set(repeated.map(placeOf));
  const further = draw(population, sample, seed)
    .filter((mutant) => !repeatedPlaces.has(placeOf(mutant)))
    .slice(0, Math.max(0, sample - repeated.length));
  const drawn = [...repeated, ...further];
  const settled = known.filter(({ outcome }) => outcome === 'killed' || outcome === 'timeout');
  const settledPlaces = new Set(settled.map(({ mutant }) => placeOf(mutant)));
  const waiting = drawn.filter((mutant) => !settledPlaces.has(placeOf(mutant)));
  const began = Date.now();
  const ran = await runMutants(waiting, began + seconds * 1000, quick);
  if (waiting.length > 0 && ran.every(({ outcome }) => outcome === 'not run')) {
    console.log(`${name}: no mutant ran within ${seconds} s, allow more with --seconds`);
    return 1;
  }
  const judged = [...settled, ...ran];
  const { percent } = scoreOf(judged);
  writeKnown(name, { seed, population: population.length, judged });
  printSurvivors(judged);
  printScore(name, judged, {
    population: population.length,
    seed,
    secondsEach: waiting.length === 0 ? 0 : (Date.now() - began) / 1000 / waiting.length,
    scoreMin,
  });
  return percent < scoreMin ? 1 : 0;
}

async function runMutants(
  mutants: readonly Mutant[],
  endsAt: number,
  quick: boolean,
): Promise<JudgedMutant[]> {
  if (mutants.length === 0) return [];
  const testsOf = readTests();
  const files = [...new Set(mutants.map(({ file }) => file))];
  const near = files.map((file) => ({ file, ...testsOf(file) }));
  const durations = readDurations();
  const tests = new Set(
    near.flatMap((one) => (quick ? fewTests(one) : [...one.direct, ...one.further])),
  );
  for (const test of tests) {
    const ms = durations[test] ?? 0;
    if (ms <= testMsMax) continue;
    tests.delete(test);
    console.log(`left out: ${test} (took ${Math.round(ms / 1000)} s)`);
  }
  const journal = await runStryker({
    mutants,
    tests: [...tests].sort(),
    direct: Object.fromEntries(near.map(({ file, direct }) => [file, direct])),
    testMsMax,
    endsAt,
  });
  for (const line of journal) {
    if (line.kind === 'unusable') console.log(`left out: ${line.test} (${line.reason})`);
  }
  return judge(mutants, journal, readSurvivors());
}

interface StoredRun {
  readonly seed: number;
  readonly population: number;
  readonly judged: readonly JudgedMutant[];
}

function knownPath(name: string): string {
  return join(cacheFolder, `${name.replaceAll(/[^\w-]+/g, '-')}.json`);
}

function writeKnown(name: string, known: StoredRun): void {
  mkdirSync(cacheFolder, { recursive: true });
  writeFileSync(knownPath(name), JSON.stringify(known, null, 1));
}

/** Returns the mutants of the last run that the code still has, at their present places. */
function readKnown(name: string, population: readonly Mutant[]): JudgedMutant[] {
  const path = knownPath(name);
  if (!existsSync(path)) throw new Error(`${path} is missing: run ${name} without --again first`);
  const { judged } = JSON.parse(readFileSync(path, 'utf8')) as StoredRun;
  const keyOf = (mutant: Mutant) =>
    [mutant.file, mutant.within, mutant.lineText, changeOf(mutant)].join('\n');
  const present = Map.groupBy(population, keyOf);
  return judged.flatMap((one) => {
    const mutant = present.get(keyOf(one.mutant))?.shift();
    return mutant === undefined ? [] : [{ ...one, mutant }];
  });
}
