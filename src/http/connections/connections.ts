/** Limits the connections of a server and closes them in order at shutdown. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Log } from '../../log.ts';
import { ApiError, errorBody } from '../../model/wire/errors.ts';
import { atMostOncePer } from '../../rate-limited.ts';
import { EventLoopTurns } from './event-loop-turns.ts';
import { GatedSocket, type PendingResponse, type SocketLimits } from './gated-socket.ts';

export interface ConnectionLimits extends SocketLimits {
  readonly connectionsMax: number;
  /** Time limit for a peer that neither reads response bytes nor sends any. */
  readonly stallTimeoutMs: number;
}

export interface Connections {
  /**
   * Counts a request against its connection; must be called for each request of the server. False for
   * a request that follows the last one of its connection and must not be served.
   */
  admit(response: PendingResponse): boolean;
  /** Closes the connection after this response. */
  endWith(response: PendingResponse): void;
  /** Starts no request that is pipelined behind this one until this one is answered. */
  holdBehind(response: PendingResponse): void;
  /** Writes this text after the responses that are still due, then closes the connection. */
  refuse(stream: Duplex, text: string): void;
  /** Closes every connection after its current or next response. */
  drain(): void;
  /**
   * Closes every connection as soon as its responses are sent. A connection that waits for its peer is
   * destroyed after `peerGraceMs`, any other after `graceMs`. Resolves with `ended`, the promise of the
   * closed listener.
   */
  endAll(graceMs: number, ended: Promise<unknown>): Promise<void>;
}

const sweepMs = 50;
/** At shutdown, a slow sender may finish its request and a slow reader its response within this time. */
const peerGraceMs = 2_000;
/** Connections above the limit that receive a 503 at the same time; further ones are closed silently. */
const refusalsMax = 64;
const refusalTimeoutMs = 1_000;
const refusalLogEveryMs = 10_000;

/** Must be called before the server listens. */
export function limitConnections(server: Server, limits: ConnectionLimits, log: Log): Connections {
  const open = new Set<GatedSocket>();
  const turns = new EventLoopTurns();
  let isDraining = false;
  const refuse = createRefusal(limits, log);
  // The server's own listener accepts any duplex stream.
  const takeConnection = server.listeners('connection')[0] as (stream: Duplex) => void;
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (open.size >= limits.connectionsMax) return refuse(socket);
    const gate = new GatedSocket(socket, limits, turns);
    open.add(gate);
    gate.once('close', () => open.delete(gate));
    takeConnection.call(server, gate);
  });
  server.maxConnections = limits.connectionsMax + refusalsMax;
  server.timeout = limits.stallTimeoutMs;
  server.on('timeout', (socket) => gateOf(socket).closeStalled());
  return {
    admit: (response) => {
      const isAdmitted = gateOf(response.req.socket).admit(response);
      if (isDraining && isAdmitted) gateOf(response.req.socket).endWith(response);
      return isAdmitted;
    },
    endWith: (response) => gateOf(response.req.socket).endWith(response),
    holdBehind: (response) => gateOf(response.req.socket).holdBehind(response),
    refuse: (stream, text) => gateOf(stream).refuse(text),
    drain: () => {
      isDraining = true;
      for (const gate of open) gate.drain();
    },
    endAll: async (graceMs, ended) => {
      const startedMs = performance.now();
      // Node reports no event when a kept-alive connection becomes idle, so this polls.
      const sweep = setInterval(
        () => {
          server.closeIdleConnections();
          const passedMs = performance.now() - startedMs;
          for (const gate of open) {
            if (passedMs >= (gate.isWorking ? graceMs : Math.min(graceMs, peerGraceMs))) {
              gate.destroy();
            }
          }
        },
        Math.min(sweepMs, Math.max(1, graceMs)),
      );
      await ended.finally(() => clearInterval(sweep));
    },
  };
}

/** Every stream of the server is a GatedSocket; Node's types know only Socket. */
function gateOf(stream: Duplex): GatedSocket {
  return stream as GatedSocket;
}

/** Sends 503 in the usual error format to a connection above the limit. */
function createRefusal({ connectionsMax }: ConnectionLimits, log: Log): (socket: Socket) => void {
  const logRefusal = atMostOncePer(refusalLogEveryMs, () =>
    log.warn({ connectionsMax }, 'connection refused: the limit is reached'),
  );
  const message = `The server has reached its limit of ${connectionsMax} connections, try again`;
  const body = JSON.stringify(errorBody(new ApiError('unavailable', message)));
  const response =
    'HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${Buffer.byteLength(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n${body}`;
  return (socket) => {
    logRefusal();
    const close = (): void => {
      socket.destroy();
    };
    // Reads and drops what the peer sends: closing with unread bytes would reset the connection and
    // could discard the response.
    socket.on('error', close).once('end', close).resume().end(response);
    setTimeout(close, refusalTimeoutMs).unref();
  };
}
