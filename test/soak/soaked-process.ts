/** Starts a process of the product whose memory and descriptors are sampled. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { MemoryAnswer, MemoryQuestion } from './report-memory.ts';

const main = resolve(import.meta.dirname, '../../dist/main.js');
const preload = resolve(import.meta.dirname, 'report-memory.ts');
const logLinesMax = 50;

export interface ProcessSample {
  readonly heapMb: number;
  readonly rssMb: number;
  readonly descriptors: number;
  readonly sockets: number;
}

export class SoakedProcess implements AsyncDisposable {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];

  constructor(
    name: string,
    words: readonly string[],
    { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
  ) {
    this.name = name;
    const flags = ['--expose-gc', '--import', preload];
    this.#child = spawn(process.execPath, [...flags, main, ...words], {
      env,
      cwd,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
  }

  /** Resolves with the first log line that contains the text. */
  async line(text: string): Promise<string> {
    const { promise, resolve: found, reject } = Promise.withResolvers<string>();
    createInterface({ input: this.#child.stderr! }).on('line', (line) => {
      this.#lines.push(line);
      if (this.#lines.length > logLinesMax) this.#lines.shift();
      if (line.includes(text)) found(line);
    });
    this.#child.once('exit', (code) =>
      reject(new Error(`${this.name} ended with ${code}: ${this.#lines.join('\n')}`)),
    );
    return promise;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** @throws Error when the process has ended */
  async sample(snapshot: string | null = null): Promise<ProcessSample> {
    if (!this.isRunning) {
      throw new Error(`${this.name} has ended: ${this.#lines.join('\n')}`);
    }
    const question: MemoryQuestion = { snapshot };
    this.#child.send(question);
    const [answer] = (await once(this.#child, 'message')) as [MemoryAnswer];
    const links = descriptorsOf(this.#child.pid!);
    return {
      heapMb: answer.heapBytes / 1e6,
      rssMb: answer.rssBytes / 1e6,
      descriptors: links.length,
      sockets: links.filter((link) => link.startsWith('socket:')).length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isRunning) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }
}

/** Returns the targets of the open descriptors of a process. */
function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}
