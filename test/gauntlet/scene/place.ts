/** The place of a process of the product: its folders, ports, link and release outlive its processes. */
import { createWriteStream, type WriteStream } from 'node:fs';
import type { DatabaseLink } from '../../support/database/database-link.ts';
import { type ProgramProcess, startProgram } from '../../support/server/program-process.ts';
import type { ShimState } from './shim-state.ts';

export type PlaceRole = 'gateway' | 'control' | 'daemon';

/** A process of a place. */
export interface Incarnation {
  readonly place: string;
  readonly startedAtMs: number;
  isKilled: boolean;
  /** When it was killed, or its order to stop was sent. */
  endedAtMs: number;
  /** Killed, or stopped while its database was away, so that it may not have settled. */
  isUnsettled: boolean;
}

export interface PlaceParts {
  readonly name: string;
  readonly role: PlaceRole;
  /** Null for a process without a database. */
  readonly link: DatabaseLink | null;
  readonly shim: ShimState;
  readonly folder: string;
  /** Folder of its spool; empty for the daemon. */
  readonly spoolPath: string;
  /** Address that callers use. */
  readonly url: string;
  readonly mcpUrl: string;
  /** Address of `/readyz` and `/metrics`. */
  readonly metricsUrl: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Program that starts it, such as one that enters a network namespace. */
  readonly launcher: readonly string[];
  readonly logPath: string;
}

export class Place implements AsyncDisposable {
  readonly parts: PlaceParts;
  /** `main.js` of the release that starts next. */
  program: string;
  /** Size of the heap of the process that starts next; null for that of Node. */
  heapMegabytes: number | null = null;
  /** Null while none runs. */
  process: ProgramProcess<unknown> | null = null;
  readonly incarnations: Incarnation[] = [];
  /** Ends that nobody ordered, and failures of a stop. */
  readonly crashes: string[] = [];
  readonly #log: WriteStream;

  constructor(parts: PlaceParts, program: string) {
    this.parts = parts;
    this.program = program;
    this.#log = createWriteStream(parts.logPath, { flags: 'a' });
  }

  get name(): string {
    return this.parts.name;
  }

  /** Resolves once it is ready to be called. */
  async start(): Promise<Incarnation> {
    const { role, folder, words, variables, shim, launcher } = this.parts;
    const isDaemon = role === 'daemon';
    const mark = isDaemon ? '"event":"started"' : '"metricsUrl"';
    const incarnation: Incarnation = {
      place: this.name,
      startedAtMs: Date.now(),
      isKilled: false,
      endedAtMs: Number.POSITIVE_INFINITY,
      isUnsettled: false,
    };
    const started = await startProgram([this.program, ...words], {
      cwd: folder,
      launcher,
      env: { PATH: process.env.PATH, ...variables, ...shim.variables, ...this.#heapVariables() },
      stream: isDaemon ? 'stdout' : 'stderr',
      findReady: (line) => (line.includes(mark) ? line : undefined),
      onLine: (line) => this.#log.write(`${line}\n`),
    });
    started.child.once('exit', (code, signal) => {
      const isOrdered = incarnation.endedAtMs < Number.POSITIVE_INFINITY;
      if (isOrdered && (incarnation.isKilled || code === 0)) return;
      const how = isOrdered ? 'ended while it stopped' : 'ended by itself';
      this.crashes.push(`${this.name} ${how}, with ${code ?? signal}`);
      if (isOrdered) {
        Object.assign(incarnation, { isKilled: true, isUnsettled: true });
        return;
      }
      incarnation.endedAtMs = Date.now();
      incarnation.isUnsettled = true;
    });
    this.process = started;
    this.incarnations.push(incarnation);
    return incarnation;
  }

  #heapVariables(): Record<string, string> {
    if (this.heapMegabytes === null) return {};
    const { NODE_OPTIONS } = this.parts.shim.variables;
    return { NODE_OPTIONS: `${NODE_OPTIONS} --max-old-space-size=${this.heapMegabytes}` };
  }

  get pid(): number {
    return this.process!.child.pid!;
  }

  /** The process that runs, or ran last. */
  get incarnation(): Incarnation {
    return this.incarnations.at(-1)!;
  }

  async kill(): Promise<void> {
    const dying = this.process;
    if (dying === null) return;
    this.#markEnd({ isKilled: true, isUnsettled: true });
    await dying.end('SIGKILL');
  }

  /** Stops it in order. */
  async stop(): Promise<void> {
    const stopping = this.process;
    if (stopping === null) return;
    const isUnsettled = !(await this.isInOrder());
    this.#markEnd({ isKilled: false, isUnsettled });
    await stopping.end('SIGTERM');
  }

  #markEnd(end: Pick<Incarnation, 'isKilled' | 'isUnsettled'>): void {
    this.process = null;
    Object.assign(this.incarnation, end, { endedAtMs: Date.now() });
  }

  /** Whether it says that nothing is wrong, and its link is whole. */
  async isInOrder(): Promise<boolean> {
    if (this.parts.link?.isWhole() === false) return false;
    const signal = AbortSignal.timeout(2_000);
    const text = await fetch(`${this.parts.metricsUrl}/readyz`, { signal })
      .then((response) => response.text())
      .catch(() => '');
    return text.includes('"ok"');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.parts.link?.[Symbol.asyncDispose]();
    await new Promise((resolve) => this.#log.end(resolve));
  }
}
