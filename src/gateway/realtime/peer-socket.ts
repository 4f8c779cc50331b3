/** Wraps one side of a realtime session: counts unsent bytes, pauses reading, and notices a peer that is gone. */
import type { WebSocket } from 'ws';
import { monotonicMs } from '../../monotonic.ts';
import type { SocketMessage } from './event-queue.ts';

export interface PeerEvents {
  readonly onMessage: (message: SocketMessage) => void;
  /** Unsent bytes have become fewer. */
  readonly onDrain: () => void;
  readonly onClose: (code: number, reason: string) => void;
}

/** A reason has at most 123 bytes. */
const reasonBytesMax = 123;

export class PeerSocket {
  readonly #socket: WebSocket;
  #onSent: () => void = () => undefined;
  #isPaused = true;
  #lastSignMs = monotonicMs();
  #lastMessageMs = monotonicMs();
  #pingedMs: number | null = null;

  /** Reads nothing until {@link start}. */
  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  start({ onMessage, onDrain, onClose }: PeerEvents): void {
    const socket = this.#socket;
    this.#onSent = onDrain;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      this.#lastMessageMs = monotonicMs();
      this.#noteSign();
      onMessage({ data, isBinary });
    });
    socket.on('ping', () => this.#noteSign());
    socket.on('pong', () => this.#noteSign());
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => onClose(code, reason.toString('utf8')));
    this.setPaused(false);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === 1;
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** When the last message arrived, monotonic clock. */
  get lastMessageMs(): number {
    return this.#lastMessageMs;
  }

  /** Sends a text. */
  send(data: Buffer | string): void {
    if (!this.isOpen) return;
    this.#socket.send(data, { binary: false, compress: false }, this.#onSent);
  }

  setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused || !this.isOpen) return;
    this.#isPaused = isPaused;
    if (isPaused) {
      this.#socket.pause();
      return;
    }
    this.#noteSign();
    this.#socket.resume();
  }

  /** Sends a ping if the peer has been silent for `intervalMs`; false when it has not answered the last one. */
  checkAlive(nowMs: number, intervalMs: number): boolean {
    // A paused socket receives no pong; the other side, for which it is paused, has to be alive.
    if (this.#isPaused) return true;
    if (nowMs - this.#lastSignMs < intervalMs) return true;
    if (this.#pingedMs !== null) return nowMs - this.#pingedMs < intervalMs;
    this.#pingedMs = nowMs;
    if (this.isOpen) this.#socket.ping();
    return true;
  }

  /** The peer has a few seconds to confirm; then the connection is cut. */
  close(code: number, reason: string): void {
    this.#isPaused = false;
    // A paused socket would not read the confirmation.
    if (this.isOpen) this.#socket.resume();
    this.#socket.close(code, cutToBytes(reason, reasonBytesMax));
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #noteSign(): void {
    this.#lastSignMs = monotonicMs();
    this.#pingedMs = null;
  }
}

function cutToBytes(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const cut = Buffer.from(text).subarray(0, bytesMax).toString('utf8');
  return cut.replace(/\uFFFD+$/, '');
}
