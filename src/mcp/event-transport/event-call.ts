/** Holds the response to one request over HTTP+SSE in the form that a server of streamable HTTP would give it. */
import { CallCut, type ProviderHeaders, type Sink } from '../../upstream/call.ts';
import { serverUnusable } from '../messages/plane-fault.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';

/** Bytes that wait for a slow reader. */
const waitingBytesMax = 16 * 1024 * 1024;

export class EventCall implements ServerCall {
  readonly responseStarted: Promise<void>;
  isSent = false;
  status = 0;
  headers: ProviderHeaders = {};
  readonly #begin: () => void;
  readonly #refuse: (error: Error) => void;
  readonly #silenceMs: number;
  #timer: NodeJS.Timeout | null = null;
  #sink: Sink | null = null;
  #isPaused = false;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #ending: { readonly error: Error | null } | null = null;
  #isFinished = false;
  readonly #onEnd: (() => void)[] = [];

  /** @param silenceMs longest wait for the response, and between two of its events; 0 for any */
  constructor(silenceMs: number) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.responseStarted = promise;
    this.#begin = resolve;
    this.#refuse = reject;
    this.#silenceMs = silenceMs;
    this.#waitOn();
  }

  get hasEnded(): boolean {
    return this.#ending !== null;
  }

  /** Whether it has no response, or not all of it. */
  get hasFailed(): boolean {
    return this.#ending !== null && this.#ending.error !== null;
  }

  /** Called once when the call has ended, by itself or because it was cut. */
  onEnd(action: () => void): void {
    if (this.hasEnded) action();
    else this.#onEnd.push(action);
  }

  /** The response may be there before the server has accepted the request. */
  begin(status: number, headers: ProviderHeaders): void {
    if (this.hasFailed || this.status !== 0) return;
    this.status = status;
    this.headers = headers;
    this.#begin();
  }

  push(chunk: Buffer): void {
    if (this.hasEnded) return;
    this.#waitOn();
    if (this.#sink !== null && !this.#isPaused) {
      this.#isPaused = !this.#sink.data(chunk);
      return;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > waitingBytesMax) {
      this.end(serverUnusable('its messages are not read in time'));
    }
  }

  /** @param error of a response that is not complete; null for one that is */
  end(error: Error | null): void {
    if (this.hasEnded) return;
    this.#ending = { error };
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (error !== null) this.#refuse(error);
    // The rejection is for whoever waits for the head.
    this.responseStarted.catch(() => undefined);
    this.#finish();
    for (const action of this.#onEnd) action();
  }

  pipe(sink: Sink): void {
    this.#sink = sink;
    this.resume();
  }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused && this.#waiting.length > 0) {
      const chunk = this.#waiting.shift()!;
      this.#waitingBytes -= chunk.length;
      this.#isPaused = !this.#sink!.data(chunk);
    }
    this.#finish();
  }

  cut(error: Error): void {
    this.end(error);
  }

  #finish(): void {
    const { error = null } = this.#ending ?? {};
    if (this.#ending === null || this.#sink === null || this.#isFinished) return;
    if (error === null && this.#waiting.length > 0) return;
    this.#isFinished = true;
    if (error === null) this.#sink.end();
    else this.#sink.fail(error);
  }

  #waitOn(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#silenceMs === 0) return;
    const expire = (): void => this.end(new CallCut('no message in time'));
    this.#timer = setTimeout(expire, this.#silenceMs).unref();
  }
}
