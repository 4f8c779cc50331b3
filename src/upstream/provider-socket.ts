/** Opens WebSockets to providers at checked addresses, and reports why one cannot be opened. */
import type { Duplex } from 'node:stream';
import type { buildConnector } from 'undici';
import type { WebSocket } from 'ws';

export interface SocketRequest {
  /** As the URL parser formats it: `https://api.example.com`. */
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly protocols: readonly string[];
  /** Bound of one message. */
  readonly messageBytesMax: number;
  /** Bound of connecting, until the provider has accepted. */
  readonly timeoutMs: number;
}

/** The provider answered the request for a WebSocket by a plain HTTP response. */
export class SocketRefused extends Error {
  override name = 'SocketRefused';
  readonly status: number;

  constructor(status: number) {
    super(`the request for a WebSocket was answered by status ${status}`);
    this.status = status;
  }
}

/** Fragments of one message; providers send a message in one frame or a few. */
const fragmentsMax = 1_024;
/** Time for the provider to confirm the end of a session. */
const closeTimeoutMs = 2_000;

/**
 * Resolves once the provider has accepted. Reads nothing until a listener for messages is attached and the socket is
 * resumed. Compression is off: it would cost memory in each session, and a small message could grow without bound.
 *
 * @throws SocketRefused, or the error of the connection
 */
export async function openProviderSocket(
  request: SocketRequest,
  connect: buildConnector.connector,
): Promise<WebSocket> {
  const { origin, path, headers, protocols, messageBytesMax, timeoutMs } = request;
  const { WebSocket: Client } = await import('ws');
  const url = new URL(origin);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new Client(url.origin + path, [...protocols], {
    headers,
    maxPayload: messageBytesMax,
    maxFragments: fragmentsMax,
    perMessageDeflate: false,
    handshakeTimeout: timeoutMs,
    closeTimeout: closeTimeoutMs,
    followRedirects: false,
    createConnection: connectionOf(new URL(origin), connect),
  } as object);
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  socket.once('unexpected-response', (_, response) => {
    response.resume();
    socket.terminate();
    reject(new SocketRefused(response.statusCode ?? 502));
  });
  socket.once('open', () => {
    socket.pause();
    resolve(socket);
  });
  // Stays attached: an error without a listener would end the process.
  socket.on('error', reject);
  return promise;
}

/** Adapts a connector of undici, which checks each resolved address, to the form of `node:http`. */
function connectionOf({ protocol, hostname, host, port }: URL, connect: buildConnector.connector) {
  return (_: object, done: (error: Error | null, socket?: Duplex) => void): undefined => {
    connect({ protocol, hostname, host, port }, (...[error, socket]) => {
      if (error === null) done(null, socket!);
      else done(error);
    });
  };
}
