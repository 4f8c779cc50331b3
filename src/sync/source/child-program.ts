/** Runs system programs with a fixed environment and a deadline. */
import { Failure } from '../../failure.ts';

export interface ChildProgram {
  readonly name: 'git' | 'gpg' | 'ssh-keygen';
  /** A command that runs the program with the arguments that follow; run directly when absent. */
  readonly through?: readonly string[];
  readonly arguments: readonly string[];
  readonly folder: string;
  /** The complete environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string | Buffer | undefined;
  readonly outputBytesMax: number;
  /** Error message when the output exceeds the limit. */
  readonly excess: string;
}

export interface ChildLimits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

export interface ChildRun {
  readonly status: number;
  readonly stdout: Buffer;
  /** The end of standard error, as much as is used. */
  readonly stderr: string;
}

/** The search path for system programs, independent of the environment. */
export const searchPath = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  '/opt/homebrew/bin',
].join(':');

const errorLengthMax = 16 * 1024;
const killSignal = 'SIGKILL';

/** Why each program is needed, and how to install it. */
const needs = {
  git: 'and the source is a Git repository. On Debian: apt install git',
  gpg: 'and signatures of GPG keys are to be verified. On Debian: apt install gpg',
  'ssh-keygen': 'and Git is reached over ssh. On Debian: apt install openssh-client',
};

/**
 * Resolves with any exit status.
 *
 * @throws Failure 6 when the program is not installed or its deadline passes, 5 when it writes more
 *   than `outputBytesMax`; the signal's reason when aborted.
 */
export async function runChild(
  program: ChildProgram,
  { signal, timeoutMs }: ChildLimits,
): Promise<ChildRun> {
  // Loaded on demand because most runs start no other program; with import() the built program
  // would print a Node warning.
  const { spawn } = process.getBuiltinModule('node:child_process');
  signal?.throwIfAborted();
  const [name, ...words] = program.through ?? [program.name];
  const child = spawn(name!, [...words, ...program.arguments], {
    cwd: program.folder,
    env: program.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  return await new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    let bytes = 0;
    let stderr = '';
    let cause: unknown;
    const kill = (reason: unknown): void => {
      cause ??= reason;
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, killSignal);
      } catch {
        // The process group has already ended.
      }
    };
    const onAbort = (): void => kill(signal?.reason);
    const deadline = setTimeout(() => kill(tooSlow(program, timeoutMs)), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > program.outputBytesMax) kill(new Failure('invalidInput', program.excess));
      else stdout.push(chunk);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr = (stderr + chunk).slice(-errorLengthMax);
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      cause ??= error.code === 'ENOENT' ? notInstalled(program) : error;
    });
    child.on('close', (status) => {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', onAbort);
      if (cause !== undefined) reject(cause);
      else resolve({ status: status ?? 1, stdout: Buffer.concat(stdout), stderr });
    });
    // The program may end before it has read all its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(program.input ?? '');
  });
}

function tooSlow({ name }: ChildProgram, timeoutMs: number): Failure {
  const message = `${name} did not finish within ${Math.round(timeoutMs / 1000)} s. Is the host reachable?`;
  return new Failure('unreachable', message);
}

function notInstalled({ name }: ChildProgram): Failure {
  return new Failure('unreachable', `${name} is not installed, ${needs[name]}`);
}
