/** Knows how a child process, and all that it starts, is made to die with this one, however this one ends. */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * Run by the shell before it becomes the command: a watcher in the command's process group reads from
 * a pipe whose other end only our process holds. However our process ends, from the moment of the
 * fork on, the pipe closes and the whole group is killed, the watcher with it.
 */
const leash = '{ read -r line <&3; kill -KILL 0; } & exec "$@" 3<&-';

export interface LeashedProcess {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Settles when it is gone, with what it ended by: `0`, `SIGKILL`, or why it could not be started. */
  readonly exited: Promise<string>;
  /** Asks the process itself. */
  kill(signal: NodeJS.Signals): void;
  /** Kills the process and all that it started. */
  cut(): void;
}

export interface LeashOptions {
  /** Working directory of the command. */
  readonly cwd: string;
  /** File descriptor that takes standard output and standard error. */
  readonly output: number;
}

/**
 * Starts `command` as the leader of its own session, so that Ctrl-C in the terminal does not reach
 * it, and on a leash: when this process dies, by SIGKILL too, so does the child with all that it has
 * started. What it leaves running when it ends by itself is killed as well.
 */
export function spawnLeashed(
  command: readonly [string, ...string[]],
  { cwd, output }: LeashOptions,
): LeashedProcess {
  const child = spawn('/bin/sh', ['-c', leash, 'leash', ...command], {
    cwd,
    detached: true,
    stdio: ['ignore', output, output, 'pipe'],
  });
  const pipe = child.stdio[3] as Writable | undefined;
  pipe?.on('error', () => {});
  const cut = (): void => void pipe?.destroy();
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(String(code ?? signal)));
  });
  void exited.then(cut);
  return { pid: child.pid, exited, kill: (signal) => void child.kill(signal), cut };
}
