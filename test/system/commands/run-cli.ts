/** Knows how a test runs the command line as its user does: a process, an environment, three results. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';

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

/** Environment of a process that tells on standard error each file it loads, by Node's own account. */
export const tellingLoads = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tracer)}`,
};

/** The files and packages that a process under {@link tellingLoads} has loaded. */
export function loadedIn(stderr: string): string[] {
  return [...stderr.matchAll(/^loaded (?!node:)(.*)$/gm)].map((match) => match[1]!);
}

/** Nothing of the environment reaches it but the database (null: none is set) and `env`. */
export async function runCli(
  words: readonly string[],
  database: DatabaseSettings | null,
  options: {
    readonly env?: Record<string, string>;
    readonly cwd?: string;
    /** The built program when left out. */
    readonly program?: string;
    /** Standard input; empty when left out. */
    readonly input?: string;
  } = {},
): Promise<CliResult> {
  const child = spawn(process.execPath, [options.program ?? inject('builtProgram'), ...words], {
    cwd: options.cwd ?? tmpdir(),
    env: {
      ...(database && databaseVariables(database)),
      GATEWRIGHT_LOG_LEVEL: 'error',
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A program that never reads its input has closed it.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await exited) as [number | null];
  return { exitCode, stdout, stderr };
}

/** Starts a command and leaves it to the test when it ends. */
export function startCli(
  words: readonly string[],
  database: DatabaseSettings,
  env: Record<string, string>,
): ChildProcess {
  return spawn(process.execPath, [inject('builtProgram'), ...words], {
    cwd: tmpdir(),
    env: { ...databaseVariables(database), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
