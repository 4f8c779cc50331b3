/** Verifies the draw of mutants, the interval of a score, the order of tests and the reading of a diff. */
import { describe, expect, it } from 'vitest';
import { readDiff } from '../../../scripts/mutation/changed-lines.ts';
import { fewTests, needsDatabase, readTests } from '../../../scripts/mutation/near-tests.ts';
import { readOptions } from '../../../scripts/mutation/options.ts';
import { draw, intervalOf } from '../../../scripts/mutation/sample.ts';
import { rankTests } from '../../../scripts/mutation/test-order.ts';

describe('draw', () => {
  const items = Array.from({ length: 1000 }, (_, index) => index);

  it('draws the same items for the same seed, and others for another', () => {
    expect(draw(items, 50, 7)).toEqual(draw(items, 50, 7));
    expect(draw(items, 50, 7)).not.toEqual(draw(items, 50, 8));
  });

  it('draws no item twice, and a larger sample that contains the smaller one', () => {
    const large = draw(items, 300, 7);
    expect(new Set(large).size).toBe(300);
    expect(large.slice(0, 50)).toEqual(draw(items, 50, 7));
    expect(draw([1, 2, 3], 5, 7).toSorted()).toEqual([1, 2, 3]);
  });
});

describe('intervalOf', () => {
  it('returns the published values of the Wilson interval', () => {
    const half = intervalOf(50, 100);
    expect(half.low).toBeCloseTo(0.4038, 3);
    expect(half.high).toBeCloseTo(0.5962, 3);
    const none = intervalOf(0, 10);
    expect(none.low).toBe(0);
    expect(none.high).toBeCloseTo(0.2775, 3);
    expect(intervalOf(10, 10).high).toBeCloseTo(1, 10);
  });

  it('says nothing about an empty sample', () => {
    expect(intervalOf(0, 0)).toEqual({ low: 0, high: 1 });
  });
});

describe('rankTests', () => {
  const files = {
    'test/api/jobs/all.test.ts': { ms: 5_000, mutants: ['1', '2', '3'] },
    'test/api/jobs/expire-keys.test.ts': { ms: 2_000, mutants: ['1'] },
    'test/unit/jobs/due.test.ts': { ms: 10, mutants: ['1', '2'] },
    'test/unit/jobs/other.test.ts': { ms: 10, mutants: ['2'] },
  };
  const rank = (more: Partial<Parameters<typeof rankTests>[0]>) =>
    rankTests({ files, mutant: '1', direct: [], isStatic: false, testMsMax: 60_000, ...more });

  it('runs files that import the mutated file first, then unit tests, then the most specific', () => {
    expect(rank({ direct: ['test/api/jobs/all.test.ts'] }).chosen).toEqual([
      'test/api/jobs/all.test.ts',
      'test/unit/jobs/due.test.ts',
      'test/api/jobs/expire-keys.test.ts',
    ]);
  });

  it('runs every file for code that runs outside of tests', () => {
    const { chosen } = rank({ isStatic: true });
    expect(chosen.at(-1)).toBe('test/unit/jobs/other.test.ts');
    expect(chosen).toHaveLength(4);
  });

  it('names the files for which no time is left', () => {
    expect(rank({ testMsMax: 3_000 })).toEqual({
      chosen: ['test/unit/jobs/due.test.ts', 'test/api/jobs/expire-keys.test.ts'],
      omitted: ['test/api/jobs/all.test.ts'],
    });
  });
});

describe('readDiff', () => {
  it('returns the new lines of files in the mutated rooms', () => {
    const diff = [
      'diff --git a/src/ledger/limit.ts b/src/ledger/limit.ts',
      '--- a/src/ledger/limit.ts',
      '+++ b/src/ledger/limit.ts',
      '@@ -3 +3,2 @@ function one() {',
      '-  old',
      '+  new',
      '+  newer',
      '@@ -20,2 +21,0 @@ function two() {',
      '-  gone',
      '@@ -40 +39 @@',
      '+++ b/src/gateway/pipeline.ts',
      '@@ -1 +1 @@',
      '+++ b/src/jobs/README.md',
      '@@ -1 +1 @@',
    ].join('\n');
    expect([...readDiff(diff)]).toEqual([['src/ledger/limit.ts', new Set([3, 4, 39])]]);
  });
});

describe('readOptions', () => {
  it('reads rooms, paths and a base', () => {
    expect(readOptions(['--room', 'ledger', '--sample', '200', '--seed', '7'])).toMatchObject({
      scope: { kind: 'rooms', rooms: ['ledger'] },
      sample: 200,
      seed: 7,
    });
    expect(readOptions(['--changed', 'HEAD~3'])).toMatchObject({
      scope: { kind: 'changed', base: 'HEAD~3' },
      seconds: 75,
    });
    expect(readOptions(['src/jobs'])).toMatchObject({ scope: { paths: ['src/jobs'] } });
  });

  it.each([
    [['--room', 'gateway'], 'gateway is no mutated room'],
    [['--room', 'jobs', 'src/jobs'], '--room and paths exclude each other'],
    [['--changed', '--room', 'jobs'], '--changed and --room exclude each other'],
    [['--changed', 'one', 'two'], '--changed takes one commit'],
    [['--sample', '0'], '--sample must be a whole number of at least 1, not 0'],
    [['--again', 'src/jobs'], '--again needs rooms'],
  ])('rejects %j', (words, message) => {
    expect(() => readOptions(words)).toThrow(message);
  });
});

describe('readTests', () => {
  const testsOf = readTests();

  it('finds tests that import a file, and unit tests that reach it through others', () => {
    const near = testsOf('src/sync/plan/loosening-rules.ts');
    expect(near.further).toContain('test/unit/model/kinds/loosening.test.ts');
    expect(testsOf('src/sync/plan/atomic.ts').direct).toContain(
      'test/unit/sync/plan/atomic.test.ts',
    );
  });

  it('finds tests of whole requests by the words of their paths, and tests of jobs by the name', () => {
    expect(fewTests(testsOf('src/store/people/scim-condition.ts'))).toContain(
      'test/api/access/scim-filters.test.ts',
    );
    expect(testsOf('src/jobs/delete-ended-sessions.ts').direct).toContain(
      'test/api/access/sign-in.test.ts',
    );
  });

  it('keeps a short run short', () => {
    const few = fewTests(testsOf('src/store/connection/db.ts'));
    expect(few.length).toBeLessThanOrEqual(8);
    expect(few.filter(needsDatabase).length).toBeLessThanOrEqual(2);
  });
});
