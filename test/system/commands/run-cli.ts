/** Runs the command line in a process, with its own environment, and returns output and exit code. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';

/** The program as a clone runs it. */
export const sourceProgram = resolve(import.meta.dirname, '../../../src/main.ts');

export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const tracer = `
  import { registerHooks } from 'node:module';
  registerHooks({ load: (url, context, next) => {
    process.stderr.write('loaded ' + url + '\\n');
    return next(url, context);
  } });`;

/** Environment of a process that reports each loaded file on standard error. */
export const tellingLoads = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tracer)}`,
};

/** Files and packages loaded by a process under {@link tellingLoads}. */
export function loadedIn(stderr: string): string[] {
  return [...stderr.matchAll(/^loaded (?!node:)(.*)$/gm)].map((match) => match[1]!);
}

/** The process gets no environment except the database (null: none) and `env`. */
export async function runCli(
  words: readonly string[],
  database: DatabaseSettings | null,
  options: {
    readonly env?: Record<string, string>;
    readonly cwd?: string;
    /** The built program by default. */
    readonly program?: string;
    /** Standard input; empty by default. */
    readonly input?: string;
  } = {},
): Promise<CliResult> {
  const child = spawnTestProcess([options.program ?? inject('builtProgram'), ...words], {
    cwd: options.cwd ?? tmpdir(),
    env: {
      ...(database && databaseVariables(database)),
      GATEWRIGHT_LOG_LEVEL: 'error',
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A program that does not read its input has closed it.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await exited) as [number | null];
  return { exitCode, stdout, stderr };
}

/** Starts a command; the test ends it. */
export function startCli(
  words: readonly string[],
  database: DatabaseSettings,
  env: Record<string, string>,
): ChildProcess {
  return spawnTestProcess([inject('builtProgram'), ...words], {
    cwd: tmpdir(),
    env: { ...databaseVariables(database), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
