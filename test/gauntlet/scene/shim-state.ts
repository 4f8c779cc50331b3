/** Writes the file by which the preloaded shim of a process shifts its clock and resolves names. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Address of each test name; null where its resolution fails. */
type Hosts = Readonly<Record<string, string | null>>;

export class ShimState {
  readonly #path: string;
  #clockOffMs = 0;
  #hosts: Hosts;

  constructor(path: string, hosts: Hosts) {
    this.#path = path;
    this.#hosts = hosts;
    this.#write();
  }

  set clockOffMs(ms: number) {
    this.#clockOffMs = ms;
    this.#write();
  }

  set hosts(hosts: Hosts) {
    this.#hosts = hosts;
    this.#write();
  }

  get hosts(): Hosts {
    return this.#hosts;
  }

  /** Environment of the process. */
  get variables(): Record<string, string> {
    const shim = join(import.meta.dirname, 'fault-shim.mjs');
    return { NODE_OPTIONS: `--import=file://${shim}`, GAUNTLET_SHIM: this.#path };
  }

  #write(): void {
    const text = JSON.stringify({ clockOffMs: this.#clockOffMs, hosts: this.#hosts });
    writeFileSync(`${this.#path}.part`, text);
    renameSync(`${this.#path}.part`, this.#path);
  }
}
