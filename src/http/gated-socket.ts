/** Knows how much one connection may ask at a time: few requests in flight, few bytes unsent, the rest unread. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export interface ConnectionBounds {
  /** Requests handled at a time; those pipelined behind them stay in the socket. */
  readonly requestsInFlightMax: number;
  /** While more than this of the answers is unsent, no further request is read. */
  readonly unsentBytesMax: number;
  /** The answer to the last of these closes the connection. */
  readonly requestsPerSocketMax: number;
  /** A peer is given this long to close after the last answer. */
  readonly lingerTimeoutMs: number;
}

/** An answer in the making, and by its `req` the request. */
export type PendingAnswer = ServerResponse<IncomingMessage>;

const endOfHeaders = '\r\n\r\n';
/** No request is shorter: `GET / HTTP/1.0` and the end of its headers. */
const requestBytesMin = 18;
const nothing = Buffer.alloc(0);

/**
 * A socket as the HTTP parser sees it. The parser would announce every request of a chunk at once,
 * some thousand of them; so it is given one at a time, and what follows waits, first here (one chunk
 * at most), then in the kernel, then with the sender.
 */
export class GatedSocket extends Duplex {
  readonly #socket: Socket;
  readonly #bounds: ConnectionBounds;
  readonly #inFlight = new Set<PendingAnswer>();
  #waiting: Buffer = nothing;
  #admitted = 0;
  /** After which the connection ends; null while that is not known. */
  #last: PendingAnswer | null = null;
  #isEnding = false;
  #isCut = false;

  constructor(socket: Socket, bounds: ConnectionBounds) {
    super({ allowHalfOpen: true, decodeStrings: false });
    this.#socket = socket;
    this.#bounds = bounds;
    socket.on('data', (chunk: Buffer) => {
      this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
      this.#handOver();
    });
    socket.on('end', () => this.push(null));
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** Whether a request that was received whole is not yet answered: its peer is not to blame. */
  get isWorking(): boolean {
    return this.#inFlight.values().some(({ req, writableEnded }) => req.complete && !writableEnded);
  }

  /** Counts a request in; false for one that follows the last of the connection: nobody may serve it. */
  admit(response: PendingAnswer): boolean {
    if (this.#last !== null) return false;
    this.#inFlight.add(response);
    response.once('close', () => {
      this.#inFlight.delete(response);
      this.#handOver();
    });
    this.#admitted += 1;
    if (this.#admitted >= this.#bounds.requestsPerSocketMax) this.endWith(response);
    return true;
  }

  /** Makes this answer the last of the connection, and says so in its headers. */
  endWith(response: PendingAnswer): void {
    this.#last = response;
    response.shouldKeepAlive = false;
  }

  /** Ends with the latest request, where its headers are not out yet. */
  takeLeave(): void {
    const latest = [...this.#inFlight].at(-1);
    if (latest !== undefined && !latest.headersSent) this.endWith(latest);
  }

  #handOver(): void {
    if (this.#isEnding) return;
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const end = this.#waiting.indexOf(endOfHeaders, requestBytesMin - endOfHeaders.length);
      const length = end < 0 ? this.#waiting.length : end + endOfHeaders.length;
      const request = this.#waiting.subarray(0, length);
      this.#waiting = this.#waiting.subarray(length);
      this.push(request);
    }
    if (this.#waiting.length > 0 || !this.#hasRoom()) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Nothing goes to a parser that has not yet taken what it was given. */
  #hasRoom(): boolean {
    if (this.#last?.req.complete || this.destroyed || this.readableLength > 0) return false;
    if (this.#inFlight.size >= this.#bounds.requestsInFlightMax) return false;
    return this.#unsentBytes() <= this.#bounds.unsentBytesMax;
  }

  /** The response whose turn it is counts what lies in this stream, the others what they hold back. */
  #unsentBytes(): number {
    let bytes = 0;
    for (const response of this.#inFlight) bytes += response.writableLength;
    return bytes;
  }

  // A chunk pushed within this call would not be announced before the next one.
  override _read(): void {
    if (this.#waiting.length > 0 || this.#socket.isPaused()) {
      process.nextTick(() => this.#handOver());
    }
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#socket.write(chunk, encoding, done);
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done) {
    this.#socket.cork();
    for (const [at, { chunk, encoding }] of chunks.entries()) {
      this.#socket.write(chunk, encoding, at === chunks.length - 1 ? done : undefined);
    }
    this.#socket.uncork();
  }

  override _final(done: Done): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: Done): void {
    if (this.#isCut) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
    done(error);
  }

  /**
   * To be called when no byte has moved for as long as may be. A peer that does not take what it is
   * sent is cut, which also takes back what the kernel holds for it; one that is idle is let go.
   */
  endSilence(): void {
    if (this.writableLength > 0 || this.#isEnding) {
      this.#isCut = true;
      this.destroy();
    } else if (!this.isWorking) {
      this.destroySoon();
    }
  }

  /**
   * As the method of a socket, which the server calls after an answer that closes. The answer may
   * still lie in the kernel: until the peer has closed, too, the connection counts as one. What the
   * peer still sends is dropped, because closing on unread bytes would take the answer back.
   */
  destroySoon(): void {
    this.#isEnding = true;
    this.#waiting = nothing;
    const socket = this.#socket.removeAllListeners('data').resume();
    this.end(() => {
      if (socket.readableEnded) this.destroy();
      else socket.once('end', () => this.destroy()).setTimeout(this.#bounds.lingerTimeoutMs);
    });
  }

  /** As the method of a socket; bytes in either direction start the time anew. */
  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }
}

type Done = (error?: Error | null) => void;
