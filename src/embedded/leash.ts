/** Starts child processes that end, with all their descendants, when this process ends in any way. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

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
  const { child, cut } = spawnWithLeash(command, { cwd, stdio: ['ignore', output, output] });
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(String(code ?? signal)));
  });
  return { pid: child.pid, exited, kill: (signal) => void child.kill(signal), cut };
}

/** A standard stream of a child: a pipe, nothing, this process's own, or a file descriptor. */
export type StandardStream = 'pipe' | 'ignore' | 'inherit' | number;
type PipeOf<Kind extends StandardStream, Pipe> = Kind extends 'pipe' ? Pipe : null;

export interface LeashedOptions<
  In extends StandardStream,
  Out extends StandardStream,
  Err extends StandardStream,
> {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly stdio: readonly [In, Out, Err];
}

interface ChildOnLeash<
  In extends StandardStream,
  Out extends StandardStream,
  Err extends StandardStream,
> {
  readonly child: ChildProcessByStdio<
    PipeOf<In, Writable>,
    PipeOf<Out, Readable>,
    PipeOf<Err, Readable>
  >;
  /** Kills the process and all its descendants. */
  readonly cut: () => void;
}

/** Starts `command` like `spawnLeashed` and returns the child with its standard streams. */
export function spawnWithLeash<
  const In extends StandardStream,
  const Out extends StandardStream,
  const Err extends StandardStream,
>(
  command: readonly [string, ...string[]],
  options: LeashedOptions<In, Out, Err>,
): ChildOnLeash<In, Out, Err> {
  const child = spawn('/bin/sh', ['-c', leash, 'leash', ...command], {
    ...options,
    detached: true,
    stdio: [...options.stdio, 'pipe'],
  });
  const pipe = child.stdio[3] as Writable | undefined;
  pipe?.on('error', () => {});
  const cut = (): void => void pipe?.destroy();
  child.once('error', cut).once('exit', cut);
  return { child: child as ChildProcess as ChildOnLeash<In, Out, Err>['child'], cut };
}
