/** Repeats asynchronous work with pauses until it is stopped. */
import { detach } from '../detached.ts';

export class RepeatedWork {
  /** Returns the pause before the next time in milliseconds; must not reject. */
  readonly #work: () => Promise<number>;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #isStopped = true;

  constructor(work: () => Promise<number>) {
    this.#work = work;
  }

  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#wait(0);
  }

  /** Waits for the work that runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#running;
  }

  #wait(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
      detach('the work on the snapshot', this.#running);
    }, pauseMs).unref();
  }

  async #run(): Promise<void> {
    const pauseMs = await this.#work();
    this.#running = null;
    if (!this.#isStopped) this.#wait(pauseMs);
  }
}
