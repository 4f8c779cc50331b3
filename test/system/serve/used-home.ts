/** Provides a home in which `gatewright up` has run before: created once for all test files, copied for each test. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { inject } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { lendSoftware } from '../../support/server/home.ts';
import { startUp } from './up-runner.ts';

/** The folder that the first start applies. */
export const example = resolve(import.meta.dirname, '../../../examples/1-quickstart');

/** Number of its resources. */
export const exampleSize = readdirSync(example)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => readFileSync(join(example, name), 'utf8').match(/^kind: /gm)?.length ?? 0)
  .reduce((sum, count) => sum + count, 0);

export interface FirstStart {
  readonly path: string;
  readonly exitCode: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Result of `gatewright up --once` in an empty home; the first caller runs it. */
export async function firstStart(): Promise<FirstStart> {
  const folder = join(dirname(inject('builtProgram')), 'first-start');
  const reportedPath = join(folder, 'told.json');
  if (mkdirSync(folder, { recursive: true }) === undefined) {
    return await eventually(() => JSON.parse(readFileSync(reportedPath, 'utf8')));
  }
  const path = join(folder, 'home');
  lendSoftware(path);
  await using run = startUp(path, ['--once', '-o', 'json', '--source', example]);
  const exitCode = await run.exited;
  const reported = { path, exitCode, stdout: run.stdout(), stderr: run.stderr() };
  writeFileSync(`${reportedPath}.new`, JSON.stringify(reported));
  renameSync(`${reportedPath}.new`, reportedPath);
  return reported;
}

/**
 * Fills an unused home with the files of the first start, as sparse files, because most of a young
 * database consists of zeros.
 */
export async function fillUsedHome(home: string): Promise<void> {
  const { path } = await firstStart();
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const present = new Set(readdirSync(home));
  const names = readdirSync(path).filter((name) => !present.has(name));
  const paths = names.map((name) => join(path, name));
  execFileSync('cp', ['-a', '--sparse=always', '--', ...paths, home]);
}
