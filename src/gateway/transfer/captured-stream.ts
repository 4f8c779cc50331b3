/** Captures the events of a stream while it is sent to the caller. */
import type { EventFilter } from './relay.ts';

export class CapturedStream implements EventFilter {
  readonly #filter: EventFilter;
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(filter: EventFilter, bytesMax: number) {
    this.#filter = filter;
    this.#bytesMax = bytesMax;
  }

  pass(chunk: Buffer): Buffer {
    return this.#keep(this.#filter.pass(chunk));
  }

  rest(): Buffer {
    return this.#keep(this.#filter.rest());
  }

  /** Null for a stream that is too long. */
  get body(): Buffer | null {
    return this.#bytes > this.#bytesMax ? null : Buffer.concat(this.#chunks);
  }

  #keep(passed: Buffer): Buffer {
    this.#bytes += passed.length;
    if (this.#bytes > this.#bytesMax) this.#chunks = [];
    // A copy, because the bytes of a chunk may be reused after they are sent.
    else this.#chunks.push(Buffer.from(passed));
    return passed;
  }
}

/** Longer streams are not judged by guardrails that observe. */
const observedBytesMax = 8 * 1024 * 1024;
const unchanged: EventFilter = { pass: (chunk) => chunk, rest: () => Buffer.alloc(0) };

/** Captures a stream that guardrails observe; null for a stream without an observer. */
export function observedStream(
  { observer }: { readonly observer: unknown },
  filter: EventFilter | null,
): CapturedStream | null {
  return observer === null ? null : new CapturedStream(filter ?? unchanged, observedBytesMax);
}

/** Begins the last event of a stream in the formats of chats, messages, Converse and Gemini. */
const lastEvent =
  /^(?:data: ?\[DONE\]\s*$|event: ?(?:message_stop|messageStop)\s*$|data: ?\{.*"finishReason": ?"[A-Z])/m;

/** Whether a stream has reached its last event without an error. */
export function isCompleteStream(body: Buffer): boolean {
  const text = body.toString('utf8');
  const hasError = /^event: ?error\s*$/m.test(text) || /^data: ?\{\s*"error"/m.test(text);
  return !hasError && lastEvent.test(text);
}
