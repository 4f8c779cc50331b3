/** Knows how work that many ask for at once is done once for all of them. */

/**
 * Whoever asks is answered by a run of the work that begins after it has asked: what was done before
 * is seen by it. While one runs, all who come wait for the next.
 */
export class SharedWork<T> {
  readonly #work: (subject: string) => Promise<T>;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<T>>();

  constructor(work: (subject: string) => Promise<T>) {
    this.#work = work;
  }

  ask(subject: string): Promise<T> {
    const next = this.#next.get(subject) ?? this.#follow(subject);
    this.#next.set(subject, next);
    return next;
  }

  async #follow(subject: string): Promise<T> {
    await this.#running.get(subject);
    this.#next.delete(subject);
    const work = this.#work(subject);
    const ending = work.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(subject, ending);
    try {
      return await work;
    } finally {
      if (this.#running.get(subject) === ending) this.#running.delete(subject);
    }
  }
}
