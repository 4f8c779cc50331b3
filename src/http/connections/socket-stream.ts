/**
 * Base of a duplex stream that stands in for a socket: forwards writes and propagates the end of either.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

type Done = (error?: Error | null) => void;

/** Implements the writing half and the socket methods that a server uses; subclasses implement reading. */
export abstract class SocketStream extends Duplex {
  protected readonly socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, decodeStrings: false });
    this.socket = socket;
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  get remoteAddress(): string | undefined {
    return this.socket.remoteAddress;
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.socket.write(chunk, encoding, done);
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done) {
    this.socket.cork();
    for (const [at, { chunk, encoding }] of chunks.entries()) {
      this.socket.write(chunk, encoding, at === chunks.length - 1 ? done : undefined);
    }
    this.socket.uncork();
  }

  override _final(done: Done): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: Done): void {
    this.socket.destroy();
    done(error);
  }

  /** Socket method; bytes in either direction restart the timer. */
  setTimeout(ms: number): this {
    this.socket.setTimeout(ms);
    return this;
  }
}
