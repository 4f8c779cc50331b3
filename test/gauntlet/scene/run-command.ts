/** Runs a command of the program to its end. */
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { exitCodes } from '../../../src/commands/shared/exit-codes.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';

export interface CommandEnd {
  /** Null when a signal has ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `killAfterMs` kills it with SIGKILL, unless it ends before. */
export async function runCommand(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
  killAfterMs: number | null = null,
): Promise<CommandEnd> {
  const child = spawnTestProcess(words, {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const timer = killAfterMs === null ? null : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  if (timer !== null) clearTimeout(timer);
  return { exitCode, stdout, stderr };
}

const repetitionsMax = 60;
const repeatAfterMs = 1_000;

/**
 * Repeats a command that cannot reach the database, as Kubernetes repeats a Job.
 *
 * @throws Error with its standard error when it fails
 */
export async function requireCommand(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  let end = await runCommand(words, variables);
  for (let count = 0; count < repetitionsMax; count += 1) {
    if (end.exitCode !== exitCodes.unreachable) break;
    await wait(repeatAfterMs);
    end = await runCommand(words, variables);
  }
  const { exitCode, stdout, stderr } = end;
  if (exitCode !== 0)
    throw new Error(`${words.slice(1).join(' ')} exited with ${exitCode}: ${stderr}`);
  return stdout;
}
