/** Limits one connection: few requests in flight and few unsent bytes; everything else stays unread. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EventLoopTurns, TurnShare } from './event-loop-turns.ts';
import { SocketStream } from './socket-stream.ts';

export interface SocketLimits {
  /** Requests handled at the same time; requests pipelined behind them stay in the socket. */
  readonly requestsInFlightMax: number;
  /** While more response bytes than this are unsent, no further request is read. */
  readonly unsentBytesMax: number;
  /** The connection closes after this many responses. */
  readonly requestsPerSocketMax: number;
  /** Time for the peer to close after the last response. */
  readonly lingerTimeoutMs: number;
}

/** A response that is not finished; `req` is its request. */
export type PendingResponse = ServerResponse<IncomingMessage>;

const endOfHeaders = '\r\n\r\n';
/** The shortest request is `GET / HTTP/1.0` and the end of its headers. */
const requestBytesMin = 18;
const nothing = Buffer.alloc(0);

/**
 * A socket as the HTTP parser sees it. Given a whole chunk, the parser would emit all its requests at
 * once, possibly thousands. So it gets one request at a time, in turns with other connections. The rest
 * waits here (one chunk at most), then in the kernel, then at the sender.
 */
export class GatedSocket extends SocketStream {
  readonly #bounds: SocketLimits;
  readonly #share: TurnShare;
  readonly #inFlight = new Set<PendingResponse>();
  #waiting: Buffer = nothing;
  #admitted = 0;
  /** The connection closes after this response; null while that is not known. */
  #last: PendingResponse | null = null;
  /** No request is handed over behind this response, because it may be the last one. */
  #alone: PendingResponse | null = null;
  #isEnding = false;
  #isCut = false;
  /** Text written instead of a response to malformed bytes; the connection then closes. */
  #refusal: string | null = null;

  constructor(socket: Socket, bounds: SocketLimits, turns: EventLoopTurns) {
    super(socket);
    this.#bounds = bounds;
    const handOver = (): void => this.#handOver();
    this.#share = turns.share(handOver, () => hasIncompleteRequest(this.#inFlight));
    socket.on('data', (chunk: Buffer) => {
      // After a refusal the parser must receive nothing more.
      if (this.#refusal !== null) return;
      this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
      this.#handOver();
    });
    socket.on('end', handOver);
    // `_read` cannot be used here: when it was called while bytes were waiting, Node does not call it
    // again once those bytes are consumed.
    this.on('data', () => {
      if (this.#waiting.length > 0 || socket.isPaused() || socket.readableEnded) {
        process.nextTick(handOver);
      }
    });
  }

  /** Whether the server still works on a request, as opposed to waiting for the peer. */
  get isWorking(): boolean {
    return this.#inFlight.values().some(isBeingServed);
  }

  /** Registers a request; false for one that follows the last response and must not be served. */
  admit(response: PendingResponse): boolean {
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

  /** Makes this response the last of the connection; its headers say so. */
  endWith(response: PendingResponse): void {
    this.#last = response;
    response.shouldKeepAlive = false;
  }

  /** Holds pipelined requests back while this response, which may close the connection, is pending. */
  holdBehind(response: PendingResponse): void {
    this.#alone = response;
  }

  /** Closes the connection after the latest request, unless its response headers are sent already. */
  drain(): void {
    const latest = [...this.#inFlight].at(-1);
    if (latest !== undefined && !latest.headersSent) this.endWith(latest);
  }

  /** Writes this text once the pending responses are sent, then closes the connection. */
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
    // The parser may have refused the bytes that were just pushed.
    if (this.#isEnding) return;
    if (this.#waiting.length > 0 || !this.#hasRoom()) this.socket.pause();
    else this.socket.resume();
    this.#finish();
  }

  /** Runs once no response is due: ending the read side earlier, or refusing, would cut responses off. */
  #finish(): void {
    if (this.#inFlight.values().some(({ req }) => req.complete)) return;
    if (this.#refusal !== null) {
      this.write(this.#refusal);
      this.destroySoon();
    } else if (this.socket.readableEnded && this.#waiting.length + this.readableLength === 0) {
      this.push(null);
    }
  }

  /** Bytes are pushed only when the parser has consumed the previous ones. */
  #hasRoom(): boolean {
    if (this.#last?.req.complete || this.destroyed || this.readableLength > 0) return false;
    const isAlone = this.#alone !== null && this.#inFlight.has(this.#alone);
    if (isAlone || this.#inFlight.size >= this.#bounds.requestsInFlightMax) return false;
    return unsentBytes(this.#inFlight) <= this.#bounds.unsentBytesMax;
  }

  /** Empty: `#handOver` pushes bytes when the parser has consumed the previous ones. */
  override _read(): void {}

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#isCut) this.socket.resetAndDestroy();
    super._destroy(error, done);
  }

  /**
   * Called when no byte has moved for the stall timeout. Resets the connection of a peer that does not
   * read, which also frees the kernel's send buffer; closes an idle connection in order.
   */
  closeStalled(): void {
    if (this.writableLength > 0 || this.#isEnding) {
      this.#isCut = true;
      this.destroy();
    } else if (!this.isWorking) {
      this.destroySoon();
    }
  }

  /**
   * Overrides the socket method that the server calls after a closing response. The response may still
   * be in the kernel, so the connection counts as open until the peer has closed too. Further bytes of
   * the peer are dropped, because closing with unread bytes could discard the response.
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

/** Waits for the peer to close. Uses a timer of its own, because incoming bytes restart the socket's. */
function linger(gate: GatedSocket, socket: Socket, timeoutMs: number): void {
  socket.once('end', () => gate.destroy()).setTimeout(0);
  const timer = setTimeout(() => gate.closeStalled(), timeoutMs).unref();
  gate.once('close', () => clearTimeout(timer));
}

/** True for a fully received, unanswered request, unless the peer must first read part of the response. */
function isBeingServed({ req, writableEnded, writableNeedDrain }: PendingResponse): boolean {
  return req.complete && !writableEnded && !writableNeedDrain;
}

/** Whether the body of a request is still incomplete. */
function hasIncompleteRequest(inFlight: Iterable<PendingResponse>): boolean {
  for (const { req } of inFlight) if (!req.complete) return true;
  return false;
}

/** Bytes up to the first end of headers, or all of them when there is none. */
function firstRequestBytes(bytes: Buffer): number {
  const end = bytes.indexOf(endOfHeaders, requestBytesMin - endOfHeaders.length);
  return end < 0 ? bytes.length : end + endOfHeaders.length;
}

/** For the response being written this counts the stream's buffer, for the others what they hold back. */
function unsentBytes(inFlight: Iterable<PendingResponse>): number {
  let bytes = 0;
  for (const response of inFlight) bytes += response.writableLength;
  return bytes;
}
