/** Tests that the published figures are those of the result files, and that every member is described. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { members } from '../../bench/members.ts';
import { descriptions } from '../../bench/publish/descriptions.ts';
import { benchmarkPage, withClaims } from '../../bench/publish/page.ts';
import { isQuiet, type ResultFile, readResults } from '../../bench/publish/result-files.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const quiet: ResultFile = {
  member: 'start of the command line, built, against an empty process',
  scale: 1,
  stages: null,
  version: '1.0.0',
  commit: 'a'.repeat(40),
  isChanged: false,
  measuredAt: '2026-01-02T03:04:05.000Z',
  machine: {
    processor: 'Some CPU',
    processors: 2,
    memoryGib: 8,
    kernel: 'linux 6',
    node: '24.0.0',
    loadPerProcessor: 0.1,
  },
  rows: [
    { metric: '--version, CPU', ratio: 1.14, aim: 1.3 },
    { metric: 'recall', ratio: 98.5, aim: null, least: 99, quartiles: [98, 99] },
  ],
};
const loaded: ResultFile = { ...quiet, machine: { ...quiet.machine, loadPerProcessor: 20 } };

describe('docs/benchmarks.md', () => {
  const results = readResults(join(root, 'bench/results'));

  it('is drawn from bench/results, and README claims nothing else', () => {
    expect(read('docs/benchmarks.md')).toBe(benchmarkPage(results));
    expect(withClaims(read('README.md'), results)).toBe(read('README.md'));
  });

  it('describes every member, and no other', () => {
    const names = members.map(({ name }) => name);
    expect(Object.keys(descriptions).toSorted()).toEqual(names.toSorted());
    expect(names).toEqual(expect.arrayContaining(results.map(({ member }) => member)));
  });

  it('states machine, versions, commit, date, goals and load', () => {
    const page = benchmarkPage([quiet]).replaceAll('\n', ' ');
    expect(page).toContain(
      'gatewright 1.0.0, commit aaaaaaaaaaaa; Node 24.0.0; 2 × Some CPU, 8 GiB',
    );
    expect(page).toContain('2026-01-02, scale 1. The machine was quiet.');
    expect(page).toContain('| --version, CPU | 1.14 |  | at most 1.3 | met |');
    expect(page).toContain('| recall | 98.50 | 98.00 to 99.00 | at least 99 | missed |');
    expect(benchmarkPage([loaded])).toContain('**The machine was loaded**');
    expect(() => benchmarkPage([{ ...quiet, member: 'other' }])).toThrow('not describe the member');
  });
});

describe('the figures in README', () => {
  const claim = 'starts in 1.1 times the processor time';

  it('are claimed from full runs on a quiet machine only', () => {
    expect([isQuiet(quiet), isQuiet(loaded)]).toEqual([true, false]);
    expect(withClaims(read('README.md'), [quiet])).toContain(claim);
    for (const result of [loaded, { ...quiet, scale: 0.5 }]) {
      expect(withClaims(read('README.md'), [result])).not.toContain(claim);
    }
    expect(() => withClaims('# Other', [])).toThrow('README.md has no block');
  });
});
