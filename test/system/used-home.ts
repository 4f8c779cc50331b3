/** Knows a home where `gatewright up` has run before: made once for a file of tests, and copied for each. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createTestHome } from '../home.ts';
import { startUp } from './up-runner.ts';

export interface FirstStart extends Disposable {
  readonly path: string;
  readonly exitCode: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Fills another home, where nothing has run yet, with what the first start has left in its own. */
  copyTo(other: string): void;
}

/** Runs `gatewright up --once` in a fresh home, which takes longer than every start after it. */
export async function startFirst(source: string): Promise<FirstStart> {
  const home = createTestHome();
  await using run = startUp(home.path, ['--once', '-o', 'json', '--source', source]);
  const exitCode = await run.exited;
  return {
    ...{ path: home.path, exitCode, stdout: run.stdout(), stderr: run.stderr() },
    copyTo: (other) => copyHome(home.path, other),
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

/** Without what is nothing but zeros, which is most of a young database. */
function copyHome(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const present = new Set(readdirSync(to));
  const names = readdirSync(from).filter((name) => !present.has(name));
  const paths = names.map((name) => join(from, name));
  execFileSync('cp', ['-a', '--sparse=always', '--', ...paths, to]);
}
