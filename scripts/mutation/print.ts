/** Prints survivors, scores and the counts of a run over changed lines. */
import { changeOf } from './mutants.ts';
import { countOf, type JudgedMutant, scoreOf } from './outcomes.ts';
import type { Interval } from './sample.ts';
import { entryOf, survivorsFile } from './survivors.ts';

/** One line for each survivor, and for each mutant that could not be judged. */
export function printSurvivors(judged: readonly JudgedMutant[]): void {
  for (const one of judged) {
    if (one.outcome === 'survived' || one.outcome === 'unreached') {
      console.log(`${one.outcome}: ${describe(one)}`);
    }
    if (one.outcome === 'invalid') console.log(`invalid: ${describe(one)} (${one.note})`);
  }
}

function describe({ mutant, omittedTests }: JudgedMutant): string {
  const { file, span } = mutant;
  const omitted = omittedTests === 0 ? '' : ` (${omittedTests} further test files did not run)`;
  return `${file}:${span.line}: ${changeOf(mutant)}${omitted}`;
}

export function printScore(
  name: string,
  judged: readonly JudgedMutant[],
  {
    population,
    seed,
    secondsEach,
    scoreMin,
  }: {
    readonly population: number;
    readonly seed: number;
    readonly secondsEach: number;
    readonly scoreMin: number;
  },
): void {
  const { killed, percent, interval } = scoreOf(judged);
  const timeouts = countOf(judged, 'timeout');
  const parts = [
    `${judged.length} of ${population} mutants drawn with seed ${seed}`,
    `${killed} killed${timeouts === 0 ? '' : ` (${timeouts} by endless tests)`}`,
    `${countOf(judged, 'survived')} survived`,
    `${countOf(judged, 'unreached')} reached by no test`,
    ...(['equivalent', 'invalid', 'not run'] as const).map(
      (outcome) => `${countOf(judged, outcome)} ${outcome}`,
    ),
  ];
  const [low, high] = [interval.low, interval.high].map((share) => (100 * share).toFixed(1));
  console.log(`${name}: ${parts.join(', ')}; ${secondsEach.toFixed(1)} s each`);
  console.log(`${name}: score ${percent.toFixed(1)} %, 95 % interval ${low} to ${high} %`);
  if (percent < scoreMin) {
    console.log(`${name}: the score is below ${scoreMin} %: write tests for the survivors, delete`);
    console.log(`dead code, or add a reason to ${survivorsFile} for what no test can notice`);
  }
}

function percents({ low, high }: Interval): string {
  return `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} %`;
}

/**
 * Returns the exit code. The score of a sample is too low when its whole interval is; when all
 * mutants ran, the score itself decides.
 */
export function printChanged(
  result:
    | { readonly skipped: string }
    | {
        readonly judged: readonly JudgedMutant[];
        readonly base: string;
        readonly population: number;
        readonly scoreMin: number;
      },
): number {
  if ('skipped' in result) {
    console.log(`skipped: mutation of changed lines: ${result.skipped}`);
    console.log('0 passed, 0 failed, 1 skipped');
    return 0;
  }
  const { judged, base, population, scoreMin } = result;
  const { killed, counted, percent, interval } = scoreOf(judged);
  const notRun = judged.length - counted - countOf(judged, 'equivalent');
  console.log(
    `lines that differ from ${base} have ${population} mutants: ${judged.length} drawn, ` +
      `${counted} counted, ${killed} killed; left out: ${population - judged.length} not drawn, ` +
      `${notRun} not run in time or invalid, ${countOf(judged, 'equivalent')} with a reason`,
  );
  if (counted === 0) return printChanged({ skipped: 'no mutant ran within the time' });
  // A sample convicts only when its whole interval is below the bar.
  const isWhole = counted + countOf(judged, 'equivalent') === population;
  const isLow = (isWhole ? percent : 100 * interval.high) < scoreMin;
  for (const one of judged) {
    if (one.outcome !== 'survived' && one.outcome !== 'unreached') continue;
    console.log(`${isLow ? 'failed: ' : ''}${one.outcome}: ${describe(one)}`);
    if (isLow) console.log(`  or add a reason: ${JSON.stringify(entryOf(one.mutant))}`);
  }
  const extent = isWhole ? 'of all changes' : `95 % interval ${percents(interval)}`;
  console.log(`score ${percent.toFixed(1)} %, ${extent}; at least ${scoreMin} % is required`);
  console.log(isLow ? '0 passed, 1 failed' : '1 passed, 0 failed');
  return isLow ? 1 : 0;
}
