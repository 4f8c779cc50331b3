/** Tracks the streams that have no end of their own, so that a stopping process ends them at once. */

export class OpenStreams {
  readonly #ends = new Set<() => void>();

  /** Returns a function that forgets the stream. */
  add(end: () => void): () => void {
    this.#ends.add(end);
    return () => void this.#ends.delete(end);
  }

  /** Clients connect again, to another replica, and resume where the server can. */
  endAll(): void {
    for (const end of this.#ends) end();
    this.#ends.clear();
  }
}
