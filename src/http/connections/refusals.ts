/** Responds to bytes that no route can serve: malformed requests and CONNECT. */
import type { Duplex } from 'node:stream';
import { ApiError, errorBody } from '../../model/wire/errors.ts';
import type { Connections } from './connections.ts';
import type { RefusedBytes } from './refused-bytes.ts';

/** Responds to bytes that are not HTTP, reports them and closes the connection. */
export function refuseMalformed(
  connections: Connections,
  report: (refused: RefusedBytes) => void,
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
  report({ status, code: error.code });
  const body = { ...errorBody(new ApiError('invalid', reason)), status_code: status };
  connections.refuse(stream, renderRawResponse(`${status} ${reason}`, [], JSON.stringify(body)));
}

/** Responds 405 to a CONNECT request and returns that status. */
export function refuseTunnel(connections: Connections, requestId: string, stream: Duplex): number {
  const error = new ApiError('methodNotAllowed');
  const headers = [`X-Request-Id: ${requestId}`, 'Allow: GET, HEAD, POST, PUT, PATCH, DELETE'];
  const body = JSON.stringify(errorBody(error));
  connections.refuse(stream, renderRawResponse('405 Method Not Allowed', headers, body));
  return error.status;
}

/**
 * The last response of a connection in wire format; `status` includes the reason phrase, `body` is JSON.
 */
export function renderRawResponse(
  status: string,
  headers: readonly string[],
  body: string,
): string {
  const lines = [
    `HTTP/1.1 ${status}`,
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
