/** Checks that the spool loses nothing that it took, whatever call of the file system its process is killed at. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { compileCache } from '../../support/server/test-process.ts';
import type { DeathPhase, DyingTask } from '../../support/spool/dying-process.ts';
import { createTestSpool, droppedIn, loadAll } from '../../support/spool/test-spool.ts';

const program = join(import.meta.dirname, '../../support/spool/dying-process.ts');
const run = promisify(execFile);

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'gatewright-spool-'));
});
afterAll(() => rmSync(parent, { recursive: true }));

interface Round {
  readonly lines: readonly string[];
  readonly isKilled: boolean;
}

async function live(task: DyingTask): Promise<Round> {
  const env = { ...process.env, ...compileCache };
  const ended = await run(process.execPath, [program, JSON.stringify(task)], { env }).then(
    ({ stdout }) => ({ stdout, isKilled: false }),
    (error: { readonly stdout: string; readonly signal: string | null }) => {
      if (error.signal !== 'SIGKILL') throw error;
      return { stdout: error.stdout, isKilled: true };
    },
  );
  return { lines: ended.stdout.split('\n').slice(0, -1), isKilled: ended.isKilled };
}

/** One in this many points of death, unless GATEWRIGHT_TEST_LONG is set. */
const stride = isLong ? 1 : 6;

interface Death {
  readonly call: number;
  readonly phase: DeathPhase;
}

/** The points of death of a whole run, which printed its calls last. */
function deathsOf({ lines }: Round): Death[] {
  const [, ...names] = lines.at(-1)!.split(' ');
  const all = names.flatMap((name, index): Death[] => {
    const phases = name === 'write' ? (['before', 'halfway', 'after'] as const) : both;
    return phases.map((phase) => ({ call: index + 1, phase }));
  });
  expect(all.length).toBeGreaterThan(50);
  return all.filter((_, index) => index % stride === seed % stride);
}
const both = ['before', 'after'] as const;

/** Runs `round` for each, two at a time. */
async function forEachDeath(deaths: readonly Death[], round: (death: Death) => Promise<void>) {
  const left = deaths.values();
  await Promise.all(
    [0, 1].map(async () => {
      for (const death of left) await round(death);
    }),
  );
}

const numbersAfter = (lines: readonly string[], word: string, stream: string): number[] =>
  lines
    .filter((line) => line.startsWith(`${word} ${stream} `))
    .map((line) => Number(line.split(' ')[2]));

const numbersOf = (texts: readonly string[]): number[] =>
  texts
    .filter((text) => droppedIn(Buffer.from(text)) === null)
    .map((text) => Number(text.split(' ')[1]));

/** Reads what a dead process left. */
async function readLeft(directory: string): Promise<{ logs: string[]; usage: string[] }> {
  await using next = createTestSpool({ directory });
  await next.spool.open();
  const left = { logs: await loadAll(next.logs), usage: await loadAll(next.usage) };
  expect(next.damage).toEqual([]);
  return left;
}

function expectAscending(numbers: readonly number[]): void {
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
}

const roomy = { bytesMax: 1024 * 1024, segmentBytes: 1024 };
const narrow = { bytesMax: 16 * 1024, segmentBytes: 1024 };

async function expectNothingLost(terms: typeof roomy, death: Death): Promise<void> {
  const directory = mkdtempSync(join(parent, 'fill-'));
  const { lines, isKilled } = await live({ directory, work: 'fill', ...terms, ...death });
  expect(isKilled).toBe(true);
  const left = await readLeft(directory);
  const usage = numbersOf(left.usage);
  expectAscending(usage);
  expect(usage).toEqual(expect.arrayContaining(numbersAfter(lines, 'took', 'usage')));
  const logs = numbersOf(left.logs);
  expectAscending(logs);
  const dropped = left.logs.reduce((sum, text) => sum + (droppedIn(Buffer.from(text)) ?? 0), 0);
  const took = numbersAfter(lines, 'took', 'logs').sort((a, b) => a - b);
  expect(logs).toEqual(expect.arrayContaining(took.filter((number) => number >= dropped)));
  expect(Math.min(...logs, Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(dropped);
  const began = numbersAfter(lines, 'began', 'logs');
  expect(logs.length + dropped).toBeLessThanOrEqual(began.length);
}

describe('a process that is killed while it fills the spool', () => {
  it.each([
    ['with room for everything', roomy],
    ['while its oldest records are dropped', narrow],
  ])('loses no record that was taken, %s', async (_, terms) => {
    const directory = mkdtempSync(join(parent, 'whole-'));
    const whole = await live({ directory, work: 'fill', call: 0, phase: 'before', ...terms });
    await forEachDeath(deathsOf(whole), (death) => expectNothingLost(terms, death));
  });
});

describe('a process that is killed while it delivers what another left', () => {
  it('leaves everything that it has not delivered', async () => {
    const filled = mkdtempSync(join(parent, 'filled-'));
    const death = { call: 0, phase: 'before' } as const;
    const { lines } = await live({ directory: filled, work: 'fill', ...roomy, ...death });
    const copy = (): string => {
      const directory = mkdtempSync(join(parent, 'left-'));
      cpSync(filled, directory, { recursive: true });
      return directory;
    };
    const first = copy();
    const whole = await live({ directory: first, work: 'deliver', ...roomy, ...death });
    expect(readdirSync(first)).toEqual([]);
    await forEachDeath(deathsOf(whole), async (at) => {
      const directory = copy();
      const round = await live({ directory, work: 'deliver', ...roomy, ...at });
      const left = await readLeft(directory);
      for (const stream of ['usage', 'logs'] as const) {
        const delivered = numbersAfter(round.lines, 'got', stream);
        const found = new Set([...delivered, ...numbersOf(left[stream])]);
        expect(found).toEqual(new Set(numbersAfter(lines, 'took', stream)));
      }
    });
  });
});
