/** Runs StrykerJS over chosen mutants with chosen tests, within a time. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { startTestDatabaseServer } from '../../test/support/database/database-server.ts';
import { type Mutant, placeOf } from './mutants.ts';
import { type JournalLine, planVariable, type RunPlan } from './run-plan.ts';

export const root = resolve(import.meta.dirname, '../..');
export const cacheFolder = '.cache/mutation';

/** Time for a mutant that runs when no further one may start, and for the end of StrykerJS. */
const graceMs = 90_000;
/** The exit code of a program that SIGINT ends. */
const interrupted = 130;

/** A signal has ended the run. */
export class RunInterruption extends Error {
  override name = 'RunInterruption';
}

export interface ChosenRun {
  readonly mutants: readonly Mutant[];
  readonly tests: readonly string[];
  /** Test files by source file that run first. */
  readonly direct: Readonly<Record<string, readonly string[]>>;
  /** Milliseconds of tests that one mutant may run. */
  readonly testMsMax: number;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  /** Milliseconds after the end for what runs then; then StrykerJS is killed. */
  readonly graceMs?: number;
}

/**
 * Returns the lines of the journal, also when time ran out; none when it did before the first mutant.
 *
 * @throws RunInterruption after a signal
 * @throws Error with the path of the log when StrykerJS fails before the first mutant
 */
export async function runStryker(chosen: ChosenRun): Promise<JournalLine[]> {
  const folder = join(root, cacheFolder, `run-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const plan: RunPlan = {
    drawn: chosen.mutants.map(placeOf),
    tests: chosen.tests,
    direct: chosen.direct,
    testMsMax: chosen.testMsMax,
    endsAt: chosen.endsAt,
    journal: join(folder, 'journal.jsonl'),
    coverage: join(folder, 'coverage.json'),
  };
  writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan));
  writeFileSync(join(folder, 'stryker.json'), JSON.stringify(optionsOf(chosen.mutants, folder)));
  const needsDatabase = chosen.tests.some((test) => test.startsWith('test/api/'));
  // A mutant that hangs costs its test process, but not the server.
  const server = needsDatabase ? await startTestDatabaseServer() : null;
  try {
    const { host = '', port = 0, user = '', password = '' } = server?.server ?? {};
    const killsAt = chosen.endsAt + (chosen.graceMs ?? graceMs);
    const code = await runProgram(folder, killsAt, {
      [planVariable]: join(folder, 'plan.json'),
      ...(server === null
        ? {}
        : { TEST_DATABASE_URL: `mysql://${user}:${password}@${host}:${port}` }),
    });
    if (code === interrupted) {
      rmSync(folder, { recursive: true, force: true });
      throw new RunInterruption('interrupted; the results of this run are lost');
    }
    const lines = readJournal(plan.journal);
    keepDurations(plan.coverage);
    const isLate = Date.now() >= killsAt;
    if (code !== 0 && !isLate && !lines.some(({ kind }) => kind === 'mutant')) {
      throw new Error(`stryker failed (exit ${code}), see ${join(folder, 'stryker.log')}`);
    }
    rmSync(folder, { recursive: true, force: true });
    return lines;
  } finally {
    await server?.stop();
  }
}

function optionsOf(mutants: readonly Mutant[], folder: string): object {
  return {
    testRunner: 'nearest-tests',
    plugins: [
      '@stryker-mutator/vitest-runner',
      './scripts/mutation/plugins/nearest-tests-runner.ts',
    ],
    vitest: { configFile: 'vitest.mutation.config.ts', related: false, pool: 'forks' },
    mutate: mutants.map(
      ({ file, span: { line, column, endLine, endColumn } }) =>
        `${file}:${line}:${column}-${endLine}:${endColumn}`,
    ),
    coverageAnalysis: 'perTest',
    // The runner ends a run at the first failed test itself; the run without mutants needs all tests.
    disableBail: true,
    tempDirName: join(folder, 'sandbox'),
    cleanTempDir: 'always',
    reporters: ['journal'],
    concurrency: 1,
    timeoutMS: 30_000,
    timeoutFactor: 4,
    dryRunTimeoutMinutes: 60,
    allowEmpty: true,
    warnings: { slow: false },
    // StrykerJS would rewrite tsconfig.json with an interface that TypeScript 7 does not have.
    tsconfigFile: 'no-tsconfig.json',
    ignorePatterns: ['/dist', '.cache', '/release', '/bench/results', '/site'],
  };
}

/** Resolves with the exit code; kills the program and what it has started after `endsAt`. */
async function runProgram(
  folder: string,
  endsAt: number,
  variables: NodeJS.ProcessEnv,
): Promise<number> {
  const log = openSync(join(folder, 'stryker.log'), 'a');
  const program = join(root, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const child = spawn(process.execPath, [program, 'run', join(folder, 'stryker.json')], {
    cwd: root,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...variables },
    // The processes of a group can be killed together.
    detached: true,
  });
  const { promise, resolve: ended, reject } = Promise.withResolvers<number>();
  const killGroup = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // All of the group have ended.
    }
  };
  const timer = setTimeout(killGroup, Math.max(0, endsAt - Date.now()));
  const stop = () => {
    ended(interrupted);
    killGroup();
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  child.once('error', reject).once('exit', (code) => ended(code ?? 1));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', stop).off('SIGTERM', stop);
    killGroup();
    closeSync(log);
  }
}

function readJournal(path: string): JournalLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  // A killed process may leave a part of the last line.
  lines.pop();
  return lines.map((line) => JSON.parse(line) as JournalLine);
}

const durationsFile = join(cacheFolder, 'durations.json');

/** Adds how long each test file took, in milliseconds, to what earlier runs have measured. */
function keepDurations(coverage: string): void {
  if (!existsSync(coverage)) return;
  const files = JSON.parse(readFileSync(coverage, 'utf8')) as Record<string, { ms: number }>;
  const measured = Object.entries(files).map(([file, { ms }]) => [file, Math.round(ms)]);
  const all = { ...readDurations(), ...Object.fromEntries(measured) };
  writeFileSync(durationsFile, JSON.stringify(all, null, 1));
}

/** Milliseconds by test file, as far as earlier runs have measured them. */
export function readDurations(): Readonly<Record<string, number>> {
  if (!existsSync(durationsFile)) return {};
  return JSON.parse(readFileSync(durationsFile, 'utf8')) as Record<string, number>;
}
