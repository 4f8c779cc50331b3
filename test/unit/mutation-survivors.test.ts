/** Verifies the comparison of surviving mutants with their reasons, and the list of reasons itself. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  compareSurvivors,
  type ExplainedSurvivor,
  type MutationReport,
  scoresOf,
} from '../../scripts/mutation/survivors.ts';

const mutant = (status: string, from: number, to: number) => ({
  mutatorName: 'ConditionalExpression',
  replacement: 'true',
  status,
  location: { start: { line: 1, column: from }, end: { line: 1, column: to } },
});
const report: MutationReport = {
  files: {
    'src/a/one.ts': {
      source: 'if (a > b) c();',
      mutants: [mutant('Survived', 5, 10), mutant('Killed', 12, 13), mutant('Ignored', 1, 2)],
    },
    'src/b/two.ts': { source: 'x', mutants: [mutant('Timeout', 1, 2), mutant('NoCoverage', 1, 2)] },
  },
};
const explained = {
  file: 'src/a/one.ts',
  mutant: 'ConditionalExpression: a > b => true',
  reason: 'equal',
};

describe('compareSurvivors', () => {
  it('returns survivors without a reason, whatever their lines', () => {
    const { unexplained } = compareSurvivors(report, [explained]);
    expect(unexplained).toEqual([
      { file: 'src/b/two.ts', mutant: 'ConditionalExpression: x => true' },
    ]);
  });

  it('returns reasons for mutants that are noticed now, of files in the report only', () => {
    const killed = { ...explained, mutant: 'ConditionalExpression: c => true' };
    const elsewhere = { ...explained, file: 'src/c/three.ts' };
    expect(compareSurvivors(report, [killed, elsewhere]).outdated).toEqual([killed]);
  });
});

describe('scoresOf', () => {
  it('counts killed mutants and timeouts by folder and in all, without ignored ones', () => {
    expect([...scoresOf(report)]).toEqual([
      ['src/a', 50],
      ['all', 50],
      ['src/b', 50],
    ]);
  });
});

it('lists survivors of existing files with a reason', () => {
  const list = JSON.parse(
    readFileSync('scripts/mutation/survivors.json', 'utf8'),
  ) as ExplainedSurvivor[];
  const faulty = list.filter(({ file, reason }) => !existsSync(file) || reason.length < 10);
  expect(faulty).toEqual([]);
});
