/** Knows how somebody who waits for a run is told what becomes of it: events, in their order, until it rests. */

/** Told by whoever drives the run; read by whoever answers the caller, who may be gone. */
export class RunEvents implements AsyncIterable<string> {
  #waiting: string[] = [];
  #wake: (() => void) | null = null;
  #isOver = false;

  tell(event: string, data: unknown): void {
    this.#push(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Nothing more comes. */
  end(): void {
    this.#push('event: done\ndata: [DONE]\n\n');
    this.#isOver = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      for (;;) {
        const told = this.#waiting.join('');
        this.#waiting = [];
        if (told !== '') yield told;
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
