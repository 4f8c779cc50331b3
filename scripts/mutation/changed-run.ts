/** Judges a sample of the changed lines within a short time, in the form of the test suites. */
import { type ChangedLines, findChangedLines } from './changed-lines.ts';
import { listMutants, type Mutant } from './mutants.ts';
import { fewTests, needsDatabase, readTests } from './near-tests.ts';
import type { MutationOptions } from './options.ts';
import { judge } from './outcomes.ts';
import { printChanged } from './print.ts';
import { draw } from './sample.ts';
import { runStryker } from './stryker-run.ts';
import { readSurvivors } from './survivors.ts';

/** Milliseconds of tests that run for one mutant at most, as measured without it. */
const testMsMax = 12_000;
const graceMs = 15_000;
/** Test files with a database of the whole run; each takes seconds before the first mutant. */
const databaseTestsMax = 6;

/** Returns the exit code; prints what was left out. */
export async function runChanged(
  wanted: string | null,
  {
    sample,
    seed,
    seconds,
    scoreMin,
  }: Pick<MutationOptions, 'sample' | 'seed' | 'seconds' | 'scoreMin'>,
): Promise<number> {
  const endsAt = Date.now() + seconds * 1000;
  let changed: ChangedLines;
  try {
    changed = findChangedLines(wanted);
  } catch (error) {
    console.error(`${(error as Error).message}; see npm run mutation -- --help`);
    return 5;
  }
  if ('missing' in changed) return printChanged({ skipped: changed.missing });
  const { lines } = changed;
  const base = changed.base.slice(0, 12);
  const population = (await listMutants([...lines.keys()])).filter(({ file, span }) =>
    lines.get(file)!.has(span.line),
  );
  if (population.length === 0) {
    return printChanged({ skipped: `no code of the mutated rooms differs from ${base}` });
  }
  const { mutants, tests, direct } = chooseWithin(
    draw(population, population.length, seed),
    sample,
  );
  const chosen = { mutants, tests, direct, testMsMax, endsAt, graceMs };
  const judged = judge(mutants, await runStryker(chosen), readSurvivors());
  return printChanged({ judged, base, population: population.length, scoreMin });
}

/** Takes mutants in order, unless their file needs more tests with a database than fit into the time. */
function chooseWithin(
  ordered: readonly Mutant[],
  sample: number,
): {
  readonly mutants: readonly Mutant[];
  readonly tests: readonly string[];
  readonly direct: Readonly<Record<string, readonly string[]>>;
} {
  const testsOf = readTests();
  const testsByFile = new Map<string, readonly string[]>();
  const direct: Record<string, readonly string[]> = {};
  const tests = new Set<string>();
  const mutants: Mutant[] = [];
  for (const mutant of ordered) {
    if (mutants.length === sample) break;
    const { file } = mutant;
    const near = testsByFile.get(file) ?? fewTests(testsOf(file));
    const isNew = !testsByFile.has(file);
    testsByFile.set(file, near);
    if (isNew) {
      const all = new Set([...tests, ...near]);
      if ([...all].filter(needsDatabase).length > databaseTestsMax) {
        testsByFile.set(file, []);
        continue;
      }
      for (const test of near) tests.add(test);
      direct[file] = near;
    }
    if (testsByFile.get(file)!.length > 0) mutants.push(mutant);
  }
  return { mutants, tests: [...tests].sort(), direct };
}
