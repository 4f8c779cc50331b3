/** Verifies how results of StrykerJS count. */
import { describe, expect, it } from 'vitest';
import { type Mutant, placeOf } from '../../../scripts/mutation/mutants.ts';
import { judge, scoreOf } from '../../../scripts/mutation/outcomes.ts';
import type { JournalLine } from '../../../scripts/mutation/run-plan.ts';
import { entryOf } from '../../../scripts/mutation/survivors.ts';

const mutantAt = (line: number): Mutant => ({
  file: 'src/ledger/limit.ts',
  span: { line, column: 2, endLine: line, endColumn: 6 },
  mutator: 'BooleanLiteral',
  original: 'true',
  replacement: 'false',
  within: 'limitOf',
  lineText: `const x${line} = true;`,
});
const lineOf = (mutant: Mutant, status: string, reason = ''): JournalLine => ({
  kind: 'mutant',
  place: placeOf(mutant),
  status,
  reason,
  killedBy: [],
});

describe('judge', () => {
  it('counts what tests notice against what they could notice', () => {
    const mutants = [1, 2, 3, 4, 5, 6, 7, 8].map(mutantAt);
    const failed = 'An error occurred outside of a test run: the table is missing';
    const journal = [
      lineOf(mutants[0]!, 'Killed'),
      lineOf(mutants[1]!, 'Timeout'),
      lineOf(mutants[2]!, 'Survived'),
      lineOf(mutants[3]!, 'NoCoverage'),
      lineOf(mutants[4]!, 'RuntimeError', failed),
      lineOf(mutants[5]!, 'RuntimeError', 'no time is left'),
      lineOf(mutants[6]!, 'Survived'),
    ];
    const explained = [{ ...entryOf(mutants[6]!), reason: 'nothing reads it' }];
    const judged = judge(mutants, journal, explained);
    expect(judged.map(({ outcome }) => outcome)).toEqual([
      'killed',
      'timeout',
      'survived',
      'unreached',
      'killed',
      'not run',
      'equivalent',
      'not run',
    ]);
    expect(scoreOf(judged)).toMatchObject({ killed: 3, counted: 5, percent: 60 });
  });

  it('counts no mutant that StrykerJS could not run, and says why', () => {
    const [mutant] = [mutantAt(1)];
    const [judged] = judge([mutant], [lineOf(mutant, 'RuntimeError', 'no memory')], []);
    expect(judged).toMatchObject({ outcome: 'invalid', note: 'no memory' });
    expect(scoreOf([judged!])).toMatchObject({ counted: 0, percent: 100 });
  });

  it('names the test files that did not run', () => {
    const mutant = mutantAt(1);
    const omitted: JournalLine = { kind: 'omitted', place: placeOf(mutant), tests: ['a', 'b'] };
    const [judged] = judge([mutant], [lineOf(mutant, 'Survived'), omitted], []);
    expect(judged).toMatchObject({ outcome: 'survived', omittedTests: 2 });
  });
});
