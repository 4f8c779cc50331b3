/** Turns the journal of a run into an outcome for each drawn mutant, and counts them. */
import { type Mutant, placeOf } from './mutants.ts';
import type { JournalLine, MutantLine } from './run-plan.ts';
import { type Interval, intervalOf } from './sample.ts';
import type { ExplainedSurvivor } from './survivors.ts';
import { isExplained } from './survivors.ts';

export type Outcome =
  | 'killed'
  /** The tests did not end; most such changes make a loop endless. */
  | 'timeout'
  | 'survived'
  /** No test runs the changed code. */
  | 'unreached'
  /** Survived, and the list has a reason why no test can notice it. */
  | 'equivalent'
  /** No time was left. */
  | 'not run'
  /** StrykerJS could not run it, which says nothing about the tests. */
  | 'invalid';

export interface JudgedMutant {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** Tests that failed, or why the mutant is invalid. */
  readonly note: string;
  /** Number of test files that reach the mutant and did not run, because its time was used up. */
  readonly omittedTests: number;
}

/** StrykerJS reports an exception in a hook, or while a test file is loaded, in these words. */
const failureOutsideTests = 'An error occurred outside of a test run';

export function judge(
  mutants: readonly Mutant[],
  journal: readonly JournalLine[],
  explained: readonly ExplainedSurvivor[],
): JudgedMutant[] {
  const results = new Map<string, MutantLine>();
  const omitted = new Map<string, number>();
  for (const line of journal) {
    if (line.kind === 'mutant') results.set(line.place, line);
    if (line.kind === 'omitted') omitted.set(line.place, line.tests.length);
  }
  return mutants.map((mutant) => {
    const place = placeOf(mutant);
    const { outcome, note } = outcomeOf(results.get(place));
    const isSurvivor = outcome === 'survived' || outcome === 'unreached';
    return {
      mutant,
      outcome: isSurvivor && isExplained(mutant, explained) ? 'equivalent' : outcome,
      note,
      omittedTests: omitted.get(place) ?? 0,
    };
  });
}

function outcomeOf(line: MutantLine | undefined): { outcome: Outcome; note: string } {
  const [reason = ''] = (line?.reason ?? '').split('\n', 1);
  switch (line?.status) {
    case 'Killed':
      return { outcome: 'killed', note: line.killedBy[0] ?? '' };
    case 'Timeout':
      return { outcome: 'timeout', note: reason };
    case 'Survived':
      return { outcome: 'survived', note: '' };
    case 'NoCoverage':
      return { outcome: 'unreached', note: '' };
    case undefined:
      return { outcome: 'not run', note: '' };
    default:
      if (reason === 'no time is left') return { outcome: 'not run', note: '' };
      if (reason.startsWith(failureOutsideTests)) return { outcome: 'killed', note: reason };
      return { outcome: 'invalid', note: reason };
  }
}

export interface Score {
  /** Noticed by tests, timeouts included. */
  readonly killed: number;
  /** All that ran and could be noticed. */
  readonly counted: number;
  /** Per cent of the counted; 100 when none was counted. */
  readonly percent: number;
  /** Wilson's 95 % interval, as shares. */
  readonly interval: Interval;
}

export function scoreOf(judged: readonly JudgedMutant[]): Score {
  const killed = countOf(judged, 'killed') + countOf(judged, 'timeout');
  const counted = killed + countOf(judged, 'survived') + countOf(judged, 'unreached');
  return {
    killed,
    counted,
    percent: counted === 0 ? 100 : (100 * killed) / counted,
    interval: intervalOf(killed, counted),
  };
}

export function countOf(judged: readonly JudgedMutant[], wanted: Outcome): number {
  return judged.filter(({ outcome }) => outcome === wanted).length;
}
