/** Writes the response to a modern client: JSON for a single message, events once there is a message before the response. */
import type { ServerResponse } from 'node:http';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { writeServerMessage } from '../messages/server-json.ts';
import { EventOutput, eventOf } from '../streams/event-output.ts';

export class ModernOutput implements Disposable {
  /** The events of a stream. */
  readonly events: EventOutput;
  readonly #response: ServerResponse;
  /** Names in lower case. */
  readonly #headers: Readonly<Record<string, string>>;
  readonly #keepAliveMs: number;
  #timer: NodeJS.Timeout | null = null;
  #isStream = false;

  constructor(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    keepAliveMs: number,
  ) {
    this.events = new EventOutput(response, keepAliveMs);
    this.#response = response;
    this.#headers = headers;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Whether the response is a stream of events that has begun. */
  get isStream(): boolean {
    return this.#isStream;
  }

  /** Begins a stream when nothing has been sent for a while, so that no proxy takes the connection for dead. */
  keepAlive(): void {
    this.#timer ??= setTimeout(() => this.#beginStream(), this.#keepAliveMs).unref();
  }

  /** Sends a message before the response. Resolves when the caller can take more, or has gone. @throws PlaneFault */
  async notify(message: RpcObject): Promise<void> {
    const text = await writeServerMessage(message);
    this.#beginStream();
    await this.events.write(eventOf(text));
  }

  /** Sends the response. The status is that of a JSON response; a stream has begun with 200. */
  async finish(message: RpcObject, status: number): Promise<void> {
    const body = await writeServerMessage(message);
    this[Symbol.dispose]();
    if (this.#isStream) {
      await this.events.write(eventOf(body));
      this.#response.end();
      return;
    }
    writeResponseHead(this.#response, status, {
      ...this.#headers,
      'content-type': 'application/json',
      'content-length': String(body.length),
    });
    this.#response.end(body);
  }

  /** Responds to a notification. */
  accept(): void {
    writeResponseHead(this.#response, 202, { ...this.#headers, 'content-length': '0' });
    this.#response.end();
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.events[Symbol.dispose]();
  }

  #beginStream(): void {
    if (this.#isStream || this.#response.headersSent || this.#response.destroyed) return;
    this.#isStream = true;
    writeResponseHead(this.#response, 200, {
      ...this.#headers,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    // Sends the head before the first event.
    this.#response.write(Buffer.alloc(0));
    this.events.start();
  }
}
