/** Writes server-sent events to a caller, and comments while there are none, so that no proxy takes the stream for dead. */
import type { ServerResponse } from 'node:http';
import { writeChunk } from '../transfer/response-chunks.ts';

/** Clients ignore comments; a named event would reach their handlers. */
const comment = Buffer.from(': keep-alive\n\n');

const [beforeData, afterData] = [Buffer.from('event: message\ndata: '), Buffer.from('\n\n')];

/** The event with this JSON. */
export function eventOf(json: Buffer): Buffer {
  return Buffer.concat([beforeData, json, afterData]);
}

export class EventOutput implements Disposable {
  readonly #response: ServerResponse;
  readonly #keepAliveMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(response: ServerResponse, keepAliveMs: number) {
    this.#response = response;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Called after the head of the response, where the bytes that are written are whole events. */
  start(): void {
    this.#timer = setInterval(() => this.#keepAlive(), this.#keepAliveMs).unref();
  }

  /** Resolves when the caller can take more, or has gone. */
  async write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    this.#timer?.refresh();
    await writeChunk(this.#response, bytes);
  }

  /** Sends a message of the gateway between two events of the server. */
  insert(message: object): void {
    if (this.#timer === null || this.#isClosed) return;
    this.#timer.refresh();
    this.#response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  get #isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  #keepAlive(): void {
    if (this.#isClosed) this[Symbol.dispose]();
    else if (!this.#response.writableNeedDrain) {
      this.#response.write(comment);
    }
  }
}
