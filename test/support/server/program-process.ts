/** Starts a command of the built program as a process that can be killed, and waits until it is ready. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { spawnTestProcess } from './test-process.ts';

export interface ProgramProcess<Ready> {
  readonly child: ChildProcess;
  readonly ready: Ready;
  /** Sends the signal, and resolves once the process is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface ProgramOptions<Ready> {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Stream with one JSON document a line. */
  readonly stream: 'stdout' | 'stderr';
  /** Returns what a line says about a process that is ready; undefined for any other line. */
  readonly findReady: (line: string) => Ready | undefined;
  /** Program and arguments that start another program in its place. */
  readonly launcher?: readonly string[];
  /** Receives every line of either stream. */
  readonly onLine?: (line: string) => void;
}

/** @throws Error with all lines when the process ends before it is ready */
export async function startProgram<Ready>(
  words: readonly string[],
  { cwd, env, stream, findReady, onLine, launcher }: ProgramOptions<Ready>,
): Promise<ProgramProcess<Ready>> {
  const child = spawnTestProcess(words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }, launcher);
  const exited = once(child, 'exit');
  const early: string[] = [];
  const ready = Promise.withResolvers<Ready>();
  let isReady = false;
  for (const name of ['stdout', 'stderr'] as const) {
    createInterface({ input: child[name] })
      .on('line', (line) => {
        onLine?.(line);
        if (isReady) return;
        early.push(line);
        const found = name === stream ? findReady(line) : undefined;
        if (found === undefined) return;
        isReady = true;
        early.length = 0;
        ready.resolve(found);
      })
      .on('close', () => {
        if (name === stream) ready.reject(new Error(`it ended: ${early.join('\n')}`));
      });
  }
  return {
    child,
    ready: await ready.promise,
    end: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}
