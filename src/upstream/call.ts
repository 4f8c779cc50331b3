/** Sends one request to a provider: signals the start of the response, hands over its body, and cuts it off. */
import type { Dispatcher } from 'undici';
import { deduplicateHeaders } from './deduplicate-headers.ts';
import { frameType } from './frames/frame.ts';
import { FrameEvents } from './frames/frames-to-events.ts';

/** A body that is streamed to the provider. */
export interface StreamedRequestBody extends AsyncIterable<Buffer> {
  /** Total length; null when unknown. */
  readonly bytes: number | null;
  /** Whether sending has started, so that the body cannot be sent again. */
  readonly isStarted: boolean;
  /** Whether all of it was sent. */
  readonly isWhole: boolean;
}

export interface CallRequest {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** Replaces `body`. */
  readonly streamed?: StreamedRequestBody | undefined;
  /**
   * Longest wait for the response head, and between two chunks of its body. Two different values would need a
   * second timer for each response, which stays in the heap long after it is cleared.
   */
  readonly silenceTimeoutMs: number;
}

/** Receives the body of a response in chunks; the last call is either `end` or `fail`. */
export interface Sink {
  /** False pauses the response until {@link Call.resume}. */
  data(chunk: Buffer): boolean;
  end(): void;
  fail(error: Error): void;
}

export type ProviderHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Called once at the end of a call with the status, 0 if no response began, and the error of an incomplete response. */
export type CallWatch = (status: number, error: Error | null) => void;

/** The gateway cut the call off, as opposed to a network error. */
export class CallCut extends Error {
  override name = 'CallCut';
}

/** A request in flight. Buffers the body until a sink is attached. */
export class Call implements Dispatcher.DispatchHandler {
  /** Resolves when the response begins; rejects when none comes. */
  readonly responseStarted: Promise<void>;
  /** Whether the provider may have received any of it. */
  isSent = false;
  status = 0;
  headers: ProviderHeaders = {};
  #controller: Dispatcher.DispatchController | null = null;
  #cut: Error | null = null;
  #sink: Sink | null = null;
  /** Set for a stream in binary frames, which is read as server-sent events. */
  #frames: FrameEvents | null = null;
  #buffered: Buffer[] = [];
  /** Result of the body; null before its end. */
  #ending: { readonly error: Error | null } | null = null;
  readonly #begin: () => void;
  readonly #refuse: (error: Error) => void;
  readonly #watch: CallWatch | null;

  constructor(dispatcher: Dispatcher, request: CallRequest, watch: CallWatch | null = null) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.responseStarted = promise;
    this.#begin = resolve;
    this.#refuse = reject;
    this.#watch = watch;
    const { origin, path, method, headers } = request;
    const body = request.streamed ?? request.body;
    const { silenceTimeoutMs: timeoutMs } = request;
    const options: Dispatcher.DispatchOptions = {
      origin,
      path,
      method,
      headers,
      body: body as Buffer,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    };
    dispatcher.dispatch(options, this);
  }

  /** Attaches the sink for buffered and coming chunks; called once, after `begun`. */
  pipe(sink: Sink): void {
    const buffered = this.#buffered;
    this.#buffered = [];
    this.#sink = sink;
    for (const chunk of buffered) this.#pass(chunk);
    if (this.#ending !== null) this.#finish(this.#ending.error);
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** Aborts the call; `begun` and the sink fail with this error unless they are done. */
  cut(error: Error): void {
    this.#cut ??= error;
    if (this.#ending === null) this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cut === null) this.isSent = true;
    else controller.abort(this.#cut);
  }

  onResponseStart(_: unknown, status: number, headers: ProviderHeaders): void {
    // An interim response, such as 103.
    if (status < 200) return;
    try {
      this.headers = deduplicateHeaders(headers);
    } catch (ambiguous) {
      this.cut(ambiguous as Error);
      return;
    }
    if (isFramed(this.headers)) {
      this.#frames = new FrameEvents();
      this.headers = { ...this.headers, 'content-type': 'text/event-stream' };
    }
    this.status = status;
    this.#begin();
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const bytes = this.#frames === null ? chunk : this.#eventsIn(chunk, this.#frames);
    if (bytes.length === 0) return;
    if (this.#sink === null) this.#buffered.push(bytes);
    else this.#pass(bytes);
  }

  onResponseEnd(): void {
    try {
      this.#frames?.end();
      this.#end(null);
    } catch (fault) {
      this.#end(fault as Error);
    }
  }

  /** Cuts the call at an invalid frame, because nothing after it can be read. */
  #eventsIn(chunk: Buffer, frames: FrameEvents): Buffer {
    try {
      return frames.pass(chunk);
    } catch (fault) {
      this.cut(fault as Error);
      return nothing;
    }
  }

  onResponseError(_: unknown, error: Error): void {
    this.#refuse(this.#cut ?? error);
    this.#end(this.#cut ?? error);
  }

  #pass(chunk: Buffer): void {
    if (!this.#sink!.data(chunk)) this.#controller?.pause();
  }

  #end(error: Error | null): void {
    if (this.#ending === null) this.#watch?.(this.status, error);
    this.#ending ??= { error };
    if (this.#sink !== null) this.#finish(error);
  }

  #finish(error: Error | null): void {
    const sink = this.#sink!;
    if (error === null) sink.end();
    else sink.fail(error);
  }
}

const nothing = Buffer.alloc(0);

function isFramed({
  'content-type': type,
  'content-encoding': encoding,
}: ProviderHeaders): boolean {
  return encoding === undefined && typeof type === 'string' && type.startsWith(frameType);
}
