/** Queues the events of a run for the caller who streams it. */

/** Written by the driver of the run, read by the response to the caller, who may disconnect. */
export class RunEvents implements AsyncIterable<string> {
  #waiting: string[] = [];
  #wake: (() => void) | null = null;
  #isOver = false;

  emit(event: string, data: unknown): void {
    this.#push(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Ends the stream. */
  end(): void {
    this.#push('event: done\ndata: [DONE]\n\n');
    this.#isOver = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      for (;;) {
        const text = this.#waiting.join('');
        this.#waiting = [];
        if (text !== '') yield text;
        else if (this.#isOver) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#isOver = true;
      this.#waiting = [];
    }
  }

  #push(text: string): void {
    if (this.#isOver) return;
    this.#waiting.push(text);
    this.#wake?.();
    this.#wake = null;
  }
}
