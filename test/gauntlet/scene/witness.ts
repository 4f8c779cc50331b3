/** Runs a witness as a process that can be killed, frozen and started again on the same port and journal. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from '../../support/database/database-server.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';

export type WitnessName = 'provider' | 'tool-server' | 'mailbox' | 'git-host';

const scripts = join(import.meta.dirname, '../witnesses');

export class Witness<Order> implements AsyncDisposable {
  readonly name: WitnessName;
  readonly port: number;
  /** Its journal; the folder of the repositories for the Git host. */
  readonly path: string;
  /** Ends that nobody ordered. */
  readonly crashes: string[] = [];
  #child: ChildProcess | null = null;
  #order: Order | null = null;

  constructor(name: WitnessName, port: number, path: string) {
    this.name = name;
    this.port = port;
    this.path = path;
  }

  get pid(): number {
    if (this.#child === null) throw new Error(`${this.name} does not run`);
    return this.#child.pid!;
  }

  /** Resolves once it listens; it then has the order that was given last. */
  async start(): Promise<void> {
    const words = [join(scripts, `${this.name}.ts`), String(this.port), this.path];
    const child = spawnTestProcess(words, { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.on('error', () => undefined);
    child.once('exit', (code, signal) => {
      if (this.#child !== child) return;
      this.#child = null;
      this.crashes.push(`${this.name} ended by itself with ${code ?? signal}`);
    });
    this.#child = child;
    const lines = createInterface({ input: child.stdout });
    await Promise.race([
      once(lines, 'line'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`${this.name} ended with ${code}`);
      }),
    ]);
    if (this.#order !== null) this.order(this.#order);
  }

  order(order: Order): void {
    this.#order = order;
    this.#child?.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  async kill(): Promise<void> {
    const dying = this.#child;
    if (dying === null) return;
    this.#child = null;
    const exited = once(dying, 'exit');
    dying.kill('SIGKILL');
    await exited;
  }

  /** Entries of its journal, oldest first. */
  entries<Entry>(): Entry[] {
    const lines = readFileSync(this.path, 'utf8').split('\n');
    // A kill may leave half a line behind.
    return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Entry);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

/** Starts a witness with an empty journal. */
export async function startWitness<Order>(
  name: WitnessName,
  folder: string,
): Promise<Witness<Order>> {
  const path = join(folder, `${name}.jsonl`);
  writeFileSync(path, '');
  const witness = new Witness<Order>(name, await findFreePort(), path);
  await witness.start();
  return witness;
}
