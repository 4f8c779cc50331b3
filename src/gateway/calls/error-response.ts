/** Converts any thrown value to a GatewayError, and sends it. */
import type { IncomingMessage } from 'node:http';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { NoDatabase } from '../../store/connection/unavailable.ts';
import { GatewayError, gatewayErrorBody } from '../transfer/gateway-error.ts';
import { allowedMethods } from '../transfer/malformed-request.ts';
import type { Arrival, GatewayServices } from './request-context.ts';
import { gatewayHeaderNames, gatewayHeaders } from './response-headers.ts';

/**
 * An unavailable database is never reported as 401, because the key may turn out to be valid later.
 * Reports unexpected errors, unless `id` is null.
 */
export function gatewayErrorOf(
  { isUnavailable, onFault }: GatewayServices,
  id: string | null,
  thrown: unknown,
): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const cause = { cause: thrown };
  if (isUnavailable(thrown)) {
    const message =
      thrown instanceof NoDatabase
        ? thrown.message
        : 'Data that this request needs is temporarily unavailable; try again';
    return new GatewayError('unavailable', message, null, cause);
  }
  if (id !== null) onFault(thrown, id);
  return new GatewayError('internal_error', 'Internal Server Error', null, cause);
}

/** Sends an error of the gateway itself; does nothing when the response has begun or the caller has gone. */
export function sendError(
  arrival: Arrival,
  error: GatewayError,
  headers: Record<string, string> = gatewayHeaders(arrival, null),
): void {
  const { request, response, errorForm, headerPrefix } = arrival;
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(gatewayErrorBody(error, errorForm));
  if (!isWorthReading(request)) response.shouldKeepAlive = false;
  headers[gatewayHeaderNames(headerPrefix).exception] = 'true';
  headers['content-type'] = 'application/json';
  headers['content-length'] = String(body.length);
  addHints(headers, error);
  writeResponseHead(response, error.status, headers);
  response.end(body);
}

/**
 * Adds the headers that clients act on: the allowed methods, the offered protocol, and when to retry. A used-up
 * budget renews too late for any client to wait, so it says not to retry.
 */
function addHints(headers: Record<string, string>, { code, retryAfterMs }: GatewayError): void {
  if (code === 'usage_limit_exceeded') headers['x-should-retry'] = 'false';
  else if (code === 'method_not_allowed') headers.allow = allowedMethods;
  else if (code === 'upgrade_not_supported') headers.upgrade = 'HTTP/1.1';
  else if (code === 'upgrade_required') headers.upgrade = 'websocket';
  else if (retryAfterMs !== null) headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000));
}

/** The rest of a rejected body must be read before the next request of the connection. */
function isWorthReading({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  const length = Number(headers['content-length'] ?? Number.NaN);
  return length <= worthReadingBytesMax;
}

const worthReadingBytesMax = 1024 * 1024;
