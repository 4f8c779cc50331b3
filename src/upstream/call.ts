/** Knows one request to a provider: when its answer begins, who takes its bytes, and how it is cut off. */
import type { Dispatcher } from 'undici';
import { deduplicateHeaders } from './deduplicate-headers.ts';

/** A body that is sent as it comes. */
export interface StreamedRequestBody extends AsyncIterable<Buffer> {
  /** Of all of it; null where nobody says. */
  readonly bytes: number | null;
  /** Whether any of it was sent, which cannot be sent again. */
  readonly isStarted: boolean;
  /** Whether all of it was. */
  readonly isWhole: boolean;
}

export interface CallRequest {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** In place of the body. */
  readonly streamed?: StreamedRequestBody | undefined;
  /**
   * Longest wait for the first header of the answer, and between two pieces of its body: were they
   * two figures, each answer would take another timer, which stays in the heap long after it is cleared.
   */
  readonly silenceTimeoutMs: number;
}

/** Takes the body of an answer, a piece after the other; exactly one of `end` and `fail` comes last. */
export interface Sink {
  /** False asks to wait until {@link Call.resume}. */
  data(chunk: Buffer): boolean;
  end(): void;
  fail(error: Error): void;
}

export type ProviderHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Is told once when a call is over: its status, 0 where no answer began, and why it did not come whole. */
export type CallWatch = (status: number, error: Error | null) => void;

/** Why a call was cut off by us; told apart from what the network does. */
export class CallCut extends Error {
  override name = 'CallCut';
}

/** A request under way. What of the body comes before somebody takes it is kept, and then handed over. */
export class Call implements Dispatcher.DispatchHandler {
  /** Resolves when the answer begins; rejects when none comes. */
  readonly begun: Promise<void>;
  /** Whether anything of it may have come to the provider. */
  isSent = false;
  status = 0;
  headers: ProviderHeaders = {};
  #controller: Dispatcher.DispatchController | null = null;
  #cut: Error | null = null;
  #sink: Sink | null = null;
  #kept: Buffer[] = [];
  /** How the body ended; null while it has not. */
  #ending: { readonly error: Error | null } | null = null;
  readonly #begin: () => void;
  readonly #refuse: (error: Error) => void;
  readonly #watch: CallWatch | null;

  constructor(dispatcher: Dispatcher, request: CallRequest, watch: CallWatch | null = null) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.begun = promise;
    this.#begin = resolve;
    this.#refuse = reject;
    this.#watch = watch;
    const { origin, path, method, headers } = request;
    const body = request.streamed ?? request.body;
    const { silenceTimeoutMs: timeoutMs } = request;
    const asked: Dispatcher.DispatchOptions = {
      origin,
      path,
      method,
      headers,
      body: body as Buffer,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    };
    dispatcher.dispatch(asked, this);
  }

  /** Hands over what there is and what will come. To be called once, after `begun`. */
  pipe(sink: Sink): void {
    const kept = this.#kept;
    this.#kept = [];
    this.#sink = sink;
    for (const chunk of kept) this.#pass(chunk);
    if (this.#ending !== null) this.#finish(this.#ending.error);
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** Ends it now, wherever it stands; what had not ended fails with this error. */
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
    // Something that goes before the answer, such as 103.
    if (status < 200) return;
    try {
      this.headers = deduplicateHeaders(headers);
    } catch (ambiguous) {
      this.cut(ambiguous as Error);
      return;
    }
    this.status = status;
    this.#begin();
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#sink === null) this.#kept.push(chunk);
    else this.#pass(chunk);
  }

  onResponseEnd(): void {
    this.#end(null);
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
