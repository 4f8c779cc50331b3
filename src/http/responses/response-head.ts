/** Writes the heads of all responses, and makes values from outside safe for them. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

interface HeadedResponse {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
}

/** Characters of a value that comes from outside; longer ones are cut. */
const outsideCharactersMax = 1024;

/**
 * Sends status and headers. Header values that HTTP does not permit are encoded and names that it does not
 * permit are dropped, so that no name, id or header of a provider makes this throw. Checked only after Node
 * has refused, because every response passes here. A status that is not final becomes 502.
 */
export function writeResponseHead(
  response: HeadedResponse,
  status: number,
  headers: OutgoingHttpHeaders,
): void {
  const sent = status >= 200 && status <= 999 ? status : 502;
  try {
    response.writeHead(sent, headers);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ERR_INVALID_CHAR' && code !== 'ERR_INVALID_HTTP_TOKEN') throw thrown;
    response.writeHead(sent, permittedHeaders(headers));
  }
}

/** Adds the header `warning` to the response, whatever its status. */
export function addWarningHeader(response: ServerResponse, warning: string): void {
  response.setHeader('warning', encoded(warning));
}

/** Adds a header to the response, whatever its status. */
export function addOwnHeader(response: ServerResponse, name: string, value: string): void {
  response.setHeader(name, visibleHeaderValue(value));
}

/** Ends a request for which even an error could not be sent: with 500 and nothing from outside, or a cut. */
export function endAbruptly(response: ServerResponse): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.shouldKeepAlive = false;
  response.writeHead(500, { 'content-length': 0 });
  response.end();
}

function permittedHeaders(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const permitted: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !namePattern.test(name)) continue;
    permitted[name] = Array.isArray(value) ? value.map(encoded) : encoded(String(value));
  }
  return permitted;
}

const namePattern = /^[\w!#$%&'*+.^`|~-]+$/;

/** Returns a value from outside as visible ASCII of bounded length, in percent-encoded UTF-8 where it is not. */
export function visibleHeaderValue(value: string): string {
  if (value.length <= outsideCharactersMax && !unusual.test(value)) return value;
  return encoded(value.slice(0, outsideCharactersMax));
}

const unusual = /[^\x20-\x7e]/;

function encoded(value: string): string {
  return value.toWellFormed().replace(/[^\t\x20-\x7e]+/g, (part) => encodeURIComponent(part));
}
