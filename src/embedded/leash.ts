/** Starts child processes that end, with all their descendants, when this process ends in any way. */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * The shell starts a watcher in the command's process group before it becomes the command. The watcher
 * reads from a pipe whose other end only this process holds. When this process ends, at any time after
 * the fork, the pipe closes and the watcher kills the whole group, itself included.
 */
const leash = '{ read -r line <&3; kill -KILL 0; } & exec "$@" 3<&-';

export interface LeashedProcess {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  /** Resolves when it has ended: `0`, `SIGKILL`, or the reason why it could not be started. */
  readonly exited: Promise<string>;
  /** Sends a signal to the process itself. */
  kill(signal: NodeJS.Signals): void;
  /** Kills the process and all its descendants. */
  cut(): void;
}

export interface LeashOptions {
  /** Working directory of the command. */
  readonly cwd: string;
  /** File descriptor for standard output and standard error. */
  readonly output: number;
}

/**
 * Starts `command` as the leader of its own session, so that Ctrl-C in the terminal does not reach
 * it. When this process ends, even by SIGKILL, the child and its descendants are killed. Descendants
 * that outlive the child are killed too.
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
