/** Knows what is said to bytes that no route can answer: those that are no request, and those that ask for a tunnel. */
import type { Duplex } from 'node:stream';
import { ApiError, errorBody } from '../model/errors.ts';
import type { Connections } from './connections.ts';
import type { RefusedBytes } from './refused-bytes.ts';

/** Answers bytes that are not HTTP and tells why; what follows on the connection means nothing. */
export function refuseMalformed(
  connections: Connections,
  tell: (refused: RefusedBytes) => void,
  error: NodeJS.ErrnoException,
  stream: Duplex,
): void {
  if (error.code === 'ECONNRESET' || !stream.writable) {
    stream.destroy();
    return;
  }
  const [status, reason] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ([408, 'Request Timeout'] as const)
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ([431, 'Request Header Fields Too Large'] as const)
        : ([400, 'Bad Request'] as const);
  tell({ status, code: error.code });
  const fault = { ...errorBody(new ApiError('invalid', reason)), status_code: status };
  connections.refuse(stream, rawAnswer(`${status} ${reason}`, [], JSON.stringify(fault)));
}

/** Answers a request to become a tunnel, with the status that it yields. */
export function refuseTunnel(connections: Connections, requestId: string, stream: Duplex): number {
  const error = new ApiError('methodNotAllowed');
  const headers = [`X-Request-Id: ${requestId}`, 'Allow: GET, HEAD, POST, PUT, PATCH, DELETE'];
  const body = JSON.stringify(errorBody(error));
  connections.refuse(stream, rawAnswer('405 Method Not Allowed', headers, body));
  return error.status;
}

/** The last answer of a connection, as it goes over the wire; `status` with its words, `body` in JSON. */
export function rawAnswer(status: string, headers: readonly string[], body: string): string {
  const lines = [
    `HTTP/1.1 ${status}`,
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
