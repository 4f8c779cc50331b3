/** Waits for the first message of a WebSocket. */
import type { WebSocket } from 'ws';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { SocketMessage } from './event-queue.ts';

export const firstMessageMs = 15_000;
const reasonCharsMax = 500;

/**
 * Leaves the socket paused. `side` names the sender in messages: `The provider`.
 *
 * @throws GatewayError when the socket is closed first, or the time is over
 */
export async function firstMessage(
  socket: WebSocket,
  side: 'The provider' | 'The caller',
  timeoutMs: number,
): Promise<SocketMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<SocketMessage>();
  const onMessage = (data: Buffer, isBinary: boolean): void => {
    socket.pause();
    resolve({ data, isBinary });
  };
  const onClose = (code: number, reason: Buffer): void => {
    const text = reason.toString('utf8').slice(0, reasonCharsMax);
    const why = text === '' ? `${code}` : `${code}: ${text}`;
    const fault = side === 'The caller' ? 'request_timeout' : 'upstream_unreachable';
    reject(new GatewayError(fault, `${side} has closed the session (${why})`));
  };
  const timer = setTimeout(() => {
    const message = `${side} sent no message within ${timeoutMs} ms`;
    reject(new GatewayError('request_timeout', message));
  }, timeoutMs);
  socket.once('message', onMessage).once('close', onClose);
  socket.resume();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.off('message', onMessage).off('close', onClose);
  }
}
