/** Knows what is said to bytes that are no request for inference: those that are no HTTP, come too slowly, or ask for a tunnel. */
import { STATUS_CODES } from 'node:http';
import { renderRawResponse } from '../../http/connections/refusals.ts';
import { GatewayError, gatewayErrorBody } from './gateway-error.ts';

/** Methods that are passed on. Others a provider could answer by telling what it was sent, its credential too. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
export const allowedMethods = methods.join(', ');

/** Null for a method that is passed on. */
export function methodFault(method: string): GatewayError | null {
  if (methods.includes(method)) return null;
  return new GatewayError('method_not_allowed', `The method must be one of ${allowedMethods}`);
}

export function tunnelFault(): GatewayError {
  return methodFault('CONNECT')!;
}

/** `code` and `reason` are those of the parser, which quotes nothing of what came. */
export function malformedFault({
  code,
  reason,
}: {
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
}): GatewayError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('request_timeout', 'The request has not come whole in time');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = 'The headers are more than 64 KiB, or more than 100';
    return new GatewayError('headers_too_large', message);
  }
  const why = reason === undefined ? '' : `: ${reason}`;
  return new GatewayError('invalid_request', `The bytes are no HTTP request${why}`);
}

/** As it goes over the wire, the last of its connection. */
export function errorResponseText(error: GatewayError): string {
  const { status } = error;
  const headers = error.code === 'method_not_allowed' ? [`Allow: ${allowedMethods}`] : [];
  return renderRawResponse(
    `${status} ${STATUS_CODES[status]}`,
    headers,
    gatewayErrorBody(error, 'openai'),
  );
}
