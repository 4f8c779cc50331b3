/** Runs a published program as a process: commands to their end, and servers until they are stopped. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { spawnWithLeash } from '../../src/embedded/leash.ts';

export interface ProgramRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `command` is the program with the arguments in front of its own: `['node', 'main.js']`. */
export async function runProgram(
  command: readonly string[],
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<ProgramRun> {
  const { promise, resolve } = Promise.withResolvers<ProgramRun>();
  const [program, ...rest] = command;
  execFile(program!, [...rest, ...words], { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
    resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
  );
  return await promise;
}

export interface ServedProgram extends AsyncDisposable {
  readonly adminUrl: string;
  /** Sends SIGTERM; resolves with the exit code. */
  readonly stop: () => Promise<number | null>;
}

/** Starts `serve` on free ports, and resolves once it listens. @throws Error with its output */
export async function serveProgram(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ServedProgram> {
  const [program, ...rest] = command;
  const words = [...rest, 'serve', '--port', '0', '--metrics-port', '0'];
  const { child: server } = spawnWithLeash([program!, ...words], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(server, 'exit');
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  createInterface({ input: server.stderr })
    .on('line', (line) => {
      lines.push(line);
      if (line.includes('"adminUrl"')) resolve(JSON.parse(line).adminUrl);
    })
    .on('close', () => reject(new Error(`serve ended: ${lines.join('\n')}`)));
  const adminUrl = await promise;
  const stop = async (): Promise<number | null> => {
    server.kill('SIGTERM');
    const [code] = await exited;
    return code;
  };
  return {
    adminUrl,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (server.exitCode === null) server.kill('SIGKILL');
      await exited;
    },
  };
}
