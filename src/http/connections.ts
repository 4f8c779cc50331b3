/** Knows how many connections are served, what each may ask, which are closed, and how all of them end. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Log } from '../log.ts';
import { ApiError, errorBody } from '../model/errors.ts';
import { type ConnectionBounds, GatedSocket, type PendingAnswer } from './gated-socket.ts';
import { Turns } from './turns.ts';

export interface ConnectionLimits extends ConnectionBounds {
  readonly connectionsMax: number;
  /** A peer that neither takes bytes of an answer nor sends any is given this long. */
  readonly stallTimeoutMs: number;
}

export interface Connections {
  /**
   * Counts a request against its connection; to be called for each that the server announces. False
   * for one that comes after the last of its connection, which nobody may serve.
   */
  admit(response: PendingAnswer): boolean;
  /** Makes this answer the last of its connection. */
  endWith(response: PendingAnswer): void;
  /** Begins nothing behind this request until it is answered. */
  holdBehind(response: PendingAnswer): void;
  /** Says this in the place of an answer, after those that are owed, and ends the connection. */
  refuse(stream: Duplex, text: string): void;
  /** From now on every answer is the last of its connection. */
  takeLeave(): void;
  /**
   * Ends every connection, as soon as its answers are out: one that only waits for its peer after
   * `peerGraceMs`, any other after `graceMs`. Resolves by `ended`, which the caller gives: the end of
   * the listener.
   */
  endAll(graceMs: number, ended: Promise<unknown>): Promise<void>;
}

const sweepMs = 50;
/** At shutdown, for a slow sender to finish its request, or a slow reader to take its answer. */
const peerGraceMs = 2_000;
/** Connections beyond the bound that may be told so at one time; those beyond are closed in silence. */
const refusalsMax = 64;
const refusalTimeoutMs = 1_000;
const refusalLogEveryMs = 10_000;

/** To be called before the server listens. */
export function boundConnections(server: Server, limits: ConnectionLimits, log: Log): Connections {
  const open = new Set<GatedSocket>();
  const turns = new Turns();
  let isLeaving = false;
  const refuse = createRefusal(limits, log);
  // The server takes connections by this event, which may hand it any duplex stream.
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
  server.on('timeout', (socket) => gateOf(socket).endSilence());
  return {
    admit: (response) => {
      const isAdmitted = gateOf(response.req.socket).admit(response);
      if (isLeaving && isAdmitted) gateOf(response.req.socket).endWith(response);
      return isAdmitted;
    },
    endWith: (response) => gateOf(response.req.socket).endWith(response),
    holdBehind: (response) => gateOf(response.req.socket).holdBehind(response),
    refuse: (stream, text) => gateOf(stream).refuse(text),
    takeLeave: () => {
      isLeaving = true;
      for (const gate of open) gate.takeLeave();
    },
    endAll: async (graceMs, ended) => {
      const startedMs = performance.now();
      // A connection kept alive turns idle when its last answer is out, which nobody is told.
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

/** Every stream the server knows is one of ours; its types know sockets only. */
function gateOf(stream: Duplex): GatedSocket {
  return stream as GatedSocket;
}

/** Tells a connection too many that it is one, in the form of every other error. */
function createRefusal({ connectionsMax }: ConnectionLimits, log: Log): (socket: Socket) => void {
  let quietUntilMs = 0;
  const message = `The server has ${connectionsMax} connections already, try again`;
  const body = JSON.stringify(errorBody(new ApiError('unavailable', message)));
  const answer =
    'HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${Buffer.byteLength(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n${body}`;
  return (socket) => {
    if (performance.now() >= quietUntilMs) {
      quietUntilMs = performance.now() + refusalLogEveryMs;
      log.warn({ connectionsMax }, 'connections are refused: there are as many as may be');
    }
    const close = (): void => {
      socket.destroy();
    };
    // What the peer sends is read and dropped: closing on unread bytes would take the answer back.
    socket.on('error', close).once('end', close).resume().end(answer);
    setTimeout(close, refusalTimeoutMs).unref();
  };
}
