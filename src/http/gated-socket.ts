/** Knows how much one connection may ask at a time: few requests in flight, few bytes unsent, the rest unread. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { SocketStream } from './socket-stream.ts';
import type { Share, Turns } from './turns.ts';

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
 * some thousand of them; so it is given one at a time, in turns with other connections, and what
 * follows waits, first here (one chunk at most), then in the kernel, then with the sender.
 */
export class GatedSocket extends SocketStream {
  readonly #bounds: ConnectionBounds;
  readonly #share: Share;
  readonly #inFlight = new Set<PendingAnswer>();
  #waiting: Buffer = nothing;
  #admitted = 0;
  /** After which the connection ends; null while that is not known. */
  #last: PendingAnswer | null = null;
  /** Behind which nothing is handed over, because its answer may be the last. */
  #alone: PendingAnswer | null = null;
  #isEnding = false;
  #isCut = false;
  /** Said in the place of an answer to bytes that mean nothing, by which the connection ends. */
  #refusal: string | null = null;

  constructor(socket: Socket, bounds: ConnectionBounds, turns: Turns) {
    super(socket);
    this.#bounds = bounds;
    const handOver = (): void => this.#handOver();
    this.#share = turns.share(handOver, () => isMidway(this.#inFlight));
    socket.on('data', (chunk: Buffer) => {
      // The parser takes nothing more, whatever it is.
      if (this.#refusal !== null) return;
      this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
      this.#handOver();
    });
    socket.on('end', handOver);
    // `_read` does not tell: called once while something still lies here, it is not called when that
    // is taken.
    this.on('data', () => {
      if (this.#waiting.length > 0 || socket.isPaused() || socket.readableEnded) {
        process.nextTick(handOver);
      }
    });
  }

  /** Whether a request is not yet answered and its peer is not to blame. */
  get isWorking(): boolean {
    return this.#inFlight.values().some(isWorkedOn);
  }

  /** Counts a request in; false for one that follows the last of the connection: nobody may serve it. */
  admit(response: PendingAnswer): boolean {
    if (this.#last !== null) return false;
    this.#inFlight.add(response);
    response.on('close', () => {
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

  /** Keeps what is behind this request from being carried out by a connection that its answer may close. */
  holdBehind(response: PendingAnswer): void {
    this.#alone = response;
  }

  /** Ends with the latest request, where its headers are not out yet. */
  takeLeave(): void {
    const latest = [...this.#inFlight].at(-1);
    if (latest !== undefined && !latest.headersSent) this.endWith(latest);
  }

  /** Says this once the answers that are owed are out, and ends the connection. */
  refuse(text: string): void {
    this.#refusal ??= text;
    this.#waiting = nothing;
    this.#handOver();
  }

  #handOver(): void {
    if (this.#isEnding) return;
    while (this.#waiting.length > 0 && this.#hasRoom() && this.#share.take()) {
      const length = firstRequestBytes(this.#waiting);
      const request = this.#waiting.subarray(0, length);
      this.#waiting = this.#waiting.subarray(length);
      this.push(request);
    }
    // The parser may have refused what it was just given.
    if (this.#isEnding) return;
    if (this.#waiting.length > 0 || !this.#hasRoom()) this.socket.pause();
    else this.socket.resume();
    this.#finish();
  }

  /** The end of what is read would end the answers too, and a refusal is not an answer to what came before it. */
  #finish(): void {
    if (this.#inFlight.values().some(({ req }) => req.complete)) return;
    if (this.#refusal !== null) {
      this.write(this.#refusal);
      this.destroySoon();
    } else if (this.socket.readableEnded && this.#waiting.length + this.readableLength === 0) {
      this.push(null);
    }
  }

  /** Nothing goes to a parser that has not yet taken what it was given. */
  #hasRoom(): boolean {
    if (this.#last?.req.complete || this.destroyed || this.readableLength > 0) return false;
    const isAlone = this.#alone !== null && this.#inFlight.has(this.#alone);
    if (isAlone || this.#inFlight.size >= this.#bounds.requestsInFlightMax) return false;
    return unsentBytes(this.#inFlight) <= this.#bounds.unsentBytesMax;
  }

  /** Nothing is fetched: what comes is pushed, once what came before it was taken. */
  override _read(): void {}

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#isCut) this.socket.resetAndDestroy();
    super._destroy(error, done);
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
    const socket = this.socket.removeAllListeners('data').resume();
    this.end(() => {
      if (socket.readableEnded) this.destroy();
      else linger(this, socket, this.#bounds.lingerTimeoutMs);
    });
  }
}

/** Waits for the peer to close, but not by the socket's time: one that goes on sending would start it anew. */
function linger(gate: GatedSocket, socket: Socket, timeoutMs: number): void {
  socket.once('end', () => gate.destroy()).setTimeout(0);
  const timer = setTimeout(() => gate.endSilence(), timeoutMs).unref();
  gate.once('close', () => clearTimeout(timer));
}

/** Received whole and not answered, unless the peer must first take what there is of a long answer. */
function isWorkedOn({ req, writableEnded, writableNeedDrain }: PendingAnswer): boolean {
  return req.complete && !writableEnded && !writableNeedDrain;
}

/** Whether a request has come without all of its body. */
function isMidway(inFlight: Iterable<PendingAnswer>): boolean {
  for (const { req } of inFlight) if (!req.complete) return true;
  return false;
}

/** Up to the first end of headers; all of them where there is none. */
function firstRequestBytes(bytes: Buffer): number {
  const end = bytes.indexOf(endOfHeaders, requestBytesMin - endOfHeaders.length);
  return end < 0 ? bytes.length : end + endOfHeaders.length;
}

/** The response whose turn it is counts what lies in the stream, the others what they hold back. */
function unsentBytes(inFlight: Iterable<PendingAnswer>): number {
  let bytes = 0;
  for (const response of inFlight) bytes += response.writableLength;
  return bytes;
}
