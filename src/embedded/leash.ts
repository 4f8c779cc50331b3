/** Knows how a child process is made to die with this one, however this one ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

const setprivPaths = ['/usr/bin/setpriv', '/bin/setpriv'];

/**
 * Starts `command` as the leader of its own session, so that Ctrl-C in the terminal does not reach
 * it, and on a leash: when this process dies, by SIGKILL too, so does the child. Output goes to the
 * file descriptor `output`. To be called from the main thread.
 */
export function spawnLeashed(
  command: readonly [string, ...string[]],
  output: number,
): ChildProcess {
  const setpriv = setprivPaths.find((path) => existsSync(path));
  const [file, ...rest] =
    setpriv === undefined ? command : [setpriv, '--pdeathsig', 'KILL', '--', ...command];
  const child = spawn(file, rest, { detached: true, stdio: ['ignore', output, output] });
  if (setpriv === undefined) watchParent(child);
  return child;
}

/**
 * The leash where setpriv is missing (macOS, Alpine): a shell reads from a pipe that only this
 * process holds open. However this process ends, the pipe closes and the shell kills `child`.
 */
export function watchParent(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const watcher = spawn('/bin/sh', ['-c', 'read -r done || kill -KILL "$0"', String(child.pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.on('error', () => child.kill('SIGKILL'));
  watcher.stdin.on('error', () => {});
  child.once('exit', () => watcher.stdin.end('done\n'));
  watcher.unref();
}
