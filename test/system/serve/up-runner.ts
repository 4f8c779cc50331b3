/** Runs `gatewright up` in a process, and waits for its output. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { inject } from 'vitest';
import { spawnWithLeash } from '../../../src/embedded/leash.ts';

const clone = resolve(import.meta.dirname, '../../..');

interface RunOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly before?: string;
  /** The built program by default. */
  readonly program?: string;
  /** Program and arguments that run it. */
  readonly as?: readonly string[];
}

export interface RunningUp extends AsyncDisposable {
  /** Its working folder. */
  readonly cwd: string;
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves once standard output or standard error matches; rejects if it ends before. */
  readonly saw: (pattern: RegExp) => Promise<void>;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals | null>;
}

/** Starts `gatewright up` on `home`, on a free port unless `words` name one. Disposal kills it. */
export function startUp(
  home: string,
  words: readonly string[],
  env: Record<string, string> = {},
  program = inject('builtProgram'),
): RunningUp {
  const port = words.includes('--port') ? [] : ['--port', '0'];
  return runUp(['--home', home, ...port, '--offline', ...words], { env, program });
}

/** Starts `gatewright up` after the shell commands in `before`. */
export function runUp(
  words: readonly string[],
  {
    env = {},
    cwd = clone,
    before = ':',
    program = inject('builtProgram'),
    as = [],
  }: RunOptions = {},
): RunningUp {
  const { child } = spawnWithLeash(
    [
      '/bin/sh',
      '-c',
      `${before} && exec "$@"`,
      'up',
      ...as,
      process.execPath,
      program,
      'up',
      ...words,
    ],
    {
      cwd,
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'close').then(
    ([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null,
  );
  return {
    cwd,
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    saw: async (pattern) => {
      const { promise, resolve: found, reject } = Promise.withResolvers<void>();
      const look = (): void => {
        if (pattern.test(stdout + stderr)) found();
      };
      for (const stream of [child.stdout, child.stderr]) stream.on('data', look);
      child.on('close', () => reject(new Error(`no ${pattern} in:\n${stdout}${stderr}`)));
      look();
      await promise;
    },
    exited,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
