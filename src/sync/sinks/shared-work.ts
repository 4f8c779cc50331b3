/** Runs work once for all callers that ask for it concurrently. */

/**
 * A caller gets the result of a run that starts after its call, so that the run sees everything
 * done before. While one runs, all new callers wait for the next.
 */
export class SharedWork<T> {
  readonly #work: (subject: string) => Promise<T>;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<T>>();

  constructor(work: (subject: string) => Promise<T>) {
    this.#work = work;
  }

  run(subject: string): Promise<T> {
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
