/** Accepts the WebSockets of callers, within bounds. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { acceptedProtocol } from './socket-request.ts';

/** Fragments of one message, and received parts of messages that wait. */
const fragmentsMax = 1_024;
const partsMax = 16_384;
/** Time for a caller to confirm the end of a session. */
const closeTimeoutMs = 2_000;

/** Compression is off: it would cost memory in each session, and a small message could grow without bound. */
export class SocketAcceptor {
  readonly #messageBytesMax: number;
  readonly #headers = new WeakMap<IncomingMessage, readonly string[]>();
  #server: Promise<WebSocketServer> | null = null;

  constructor(messageBytesMax: number) {
    this.#messageBytesMax = messageBytesMax;
  }

  /** The handshake must be valid. Null when the caller has gone. The socket is paused. */
  async accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    headers: readonly string[],
  ): Promise<WebSocket | null> {
    this.#server ??= this.#create();
    const server = await this.#server;
    if (!socket.readable || !socket.writable) return null;
    this.#headers.set(request, headers);
    const { promise, resolve } = Promise.withResolvers<WebSocket>();
    server.handleUpgrade(request, socket, head, (accepted) => {
      accepted.pause();
      accepted.on('error', () => undefined);
      resolve(accepted);
    });
    return promise;
  }

  async #create(): Promise<WebSocketServer> {
    const { WebSocketServer: Server } = await import('ws');
    const options = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: this.#messageBytesMax,
      maxFragments: fragmentsMax,
      maxBufferedChunks: partsMax,
      closeTimeout: closeTimeoutMs,
      handleProtocols: (offered: Set<string>) => acceptedProtocol(offered) ?? false,
    };
    const server = new Server(options);
    server.on('headers', (lines, request) => {
      lines.push(...(this.#headers.get(request) ?? []));
    });
    return server;
  }
}
