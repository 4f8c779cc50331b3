/** Tests that plans are the same in every process, and that a report repeats them whole or narrowed. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everyFault } from '../gauntlet/faults/every-fault.ts';
import { type PlannedFault, planFaults } from '../gauntlet/plan/fault-plan.ts';
import { readReplay } from '../gauntlet/plan/replay.ts';
import { reportOf, writeReport } from '../gauntlet/report.ts';
import { spawnTestProcess } from '../support/server/test-process.ts';

const main = resolve(import.meta.dirname, '../gauntlet/main.ts');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-replay-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function runMain(...words: readonly string[]) {
  const child = spawnTestProcess([main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { stdout, stderr, exitCode };
}

/** Writes the report of a run of this plan, with one violation for each given time. */
function reportWith(
  name: string,
  faults: readonly PlannedFault[],
  times: readonly (readonly [number, number] | null)[],
): string {
  const path = join(folder, name);
  writeReport(
    path,
    reportOf({
      plan: { seed: 7, minutes: 2, faults },
      rate: 60,
      database: 'mysql://root:hidden@127.0.0.1:3306',
      tookMs: 120_000,
      traffic: { answers: [], omitted: 0, errors: [] },
      injections: [],
      stalls: [],
      omissions: [],
      findings: [
        {
          invariant: 'usage rows lost',
          document: 'docs/guides/operations.md, Spool',
          violations: times.map((atMs) => ({ line: 'a row is lost', atMs })),
        },
      ],
    }),
  );
  return path;
}

const whole = { narrows: false, faults: null };
const narrowed = { narrows: true, faults: null };
const fault = (kind: string, atMs: number): PlannedFault => ({
  kind,
  atMs,
  target: 0.5,
  durationMs: 2_000,
});
const early = fault('daemon killed', 2_000);
const middle = [fault('gateway killed', 50_000), fault('database cut', 52_500)];
const late = fault('disk full', 100_000);

it('prints the plan of a seed in another process as this one computes it', async () => {
  const { stdout, exitCode } = await runMain('--seed', '31', '--minutes', '3', '--plan');
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual(planFaults(31, 3, everyFault));
});

it('prints the plan of a report in another process as it was', async () => {
  const plan = planFaults(32, 2, everyFault);
  const path = reportWith('other.json', plan.faults, []);
  const { stdout } = await runMain('--replay', path, '--plan');
  expect(JSON.parse(stdout).faults).toEqual(plan.faults);
});

describe('readReplay', () => {
  it('returns plan, rate and database of the report, without credentials', () => {
    const path = reportWith('whole.json', [early, ...middle, late], [[60_000, 61_000]]);
    expect(readReplay(path, whole)).toEqual({
      plan: { seed: 7, minutes: 2, faults: [early, ...middle, late] },
      rate: 60,
      database: 'mysql://127.0.0.1:3306',
    });
  });

  it('narrows to the faults around a violation, with the times between them', () => {
    const path = reportWith('narrow.json', [early, ...middle, late], [null, [60_000, 61_000]]);
    const { plan } = readReplay(path, narrowed);
    expect(plan.faults).toEqual([
      { ...middle[0], atMs: 2_000 },
      { ...middle[1], atMs: 4_500 },
    ]);
    expect(plan.seed).toBe(7);
    expect(plan.minutes * 60_000).toBeGreaterThanOrEqual(4_500 + 2_000);
    expect(plan.minutes).toBeLessThan(0.5);
  });

  it('keeps a fault that is in force when the violation begins or ends, and none that comes later', () => {
    const path = reportWith('edges.json', [early, ...middle, late], [[99_000, 100_000]]);
    expect(readReplay(path, narrowed).plan.faults.map(({ kind }) => kind)).toEqual(['disk full']);
    const before = reportWith('before.json', [early, ...middle, late], [[99_000, 99_999]]);
    expect(() => readReplay(before, narrowed)).toThrow('no such fault around its violations');
  });

  it('repeats only the faults with the given names', () => {
    const path = reportWith('named.json', [early, ...middle, late], [[60_000, 61_000]]);
    const options = { narrows: false, faults: ['killed'] };
    expect(readReplay(path, options).plan.faults).toEqual([early, middle[0]]);
  });

  it('refuses to narrow a report without a time of a violation', () => {
    const path = reportWith('untimed.json', [early], [null]);
    expect(() => readReplay(path, narrowed)).toThrow('untimed.json has no violation whose time');
  });

  it.each([
    ['nothing', null, 'cannot read'],
    ['no JSON', '{', 'cannot read'],
    ['another document', '{"plan":{}}', 'is no report of a gauntlet: plan.seed'],
  ])('names the file and the fault when it is %s', (name, content, message) => {
    const path = join(folder, `${name}.json`);
    if (content !== null) writeFileSync(path, content);
    expect(() => readReplay(path, whole)).toThrow(message);
    expect(() => readReplay(path, whole)).toThrow(path);
  });
});

it('exits with 5 and one line when the report cannot be read', async () => {
  const { stderr, exitCode } = await runMain('--replay', join(folder, 'missing.json'));
  expect(exitCode).toBe(5);
  expect(stderr).toMatch(/^gauntlet: --replay cannot read .*missing\.json.*\n$/);
});
