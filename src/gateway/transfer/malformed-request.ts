/** Builds responses to bytes that are not an inference request: malformed HTTP, slow requests and tunnels. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { renderRawResponse } from '../../http/connections/refusals.ts';
import { GatewayError, gatewayErrorBody } from './gateway-error.ts';

/** Forwarded methods. Others, such as TRACE, could make a provider echo its credential. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
export const allowedMethods = methods.join(', ');

/** Null for a forwarded method. */
export function methodFault(method: string): GatewayError | null {
  if (methods.includes(method)) return null;
  return new GatewayError('method_not_allowed', `The method must be one of ${allowedMethods}`);
}

/**
 * The fault of a request that asks for a WebSocket where none is offered, or does not where nothing else is
 * (`isSocketPath`); null for none.
 */
export function webSocketFault(
  { headers: { upgrade = '' } }: Pick<IncomingMessage, 'headers'>,
  isSocketPath: boolean,
): GatewayError | null {
  if (isSocketPath) {
    const message = 'Realtime sessions are served by WebSocket: connect by wss:// or ws://';
    return new GatewayError('upgrade_required', message, 'upgrade');
  }
  if (!/\bwebsocket\b/i.test(upgrade)) return null;
  const message = 'The path offers no WebSocket: send the request over plain HTTP';
  return new GatewayError('upgrade_not_supported', message, 'upgrade');
}

export function tunnelFault(): GatewayError {
  return methodFault('CONNECT')!;
}

/** `code` and `reason` come from the parser, which quotes no input. */
export function malformedFault({
  code,
  reason,
}: {
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
}): GatewayError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('request_timeout', 'The request was not received completely in time');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = 'The headers exceed 64 KiB or 100 fields';
    return new GatewayError('headers_too_large', message);
  }
  const why = reason === undefined ? '' : `: ${reason}`;
  return new GatewayError('invalid_request', `The request is not valid HTTP${why}`);
}

/** Returns the raw response, which is the last of its connection. */
export function errorResponseText(error: GatewayError): string {
  const { status } = error;
  const headers = error.code === 'method_not_allowed' ? [`Allow: ${allowedMethods}`] : [];
  return renderRawResponse(
    `${status} ${STATUS_CODES[status]}`,
    headers,
    gatewayErrorBody(error, 'openai'),
  );
}
