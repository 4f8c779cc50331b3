/** Refuses requests that a proxy in front and this server could interpret differently. */
import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';

/** Headers that must not be repeated, because two readers could use different values. */
const singleHeaders = [
  'authorization',
  'host',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'if-match',
  'if-none-match',
  'gatewright-owner',
  'gatewright-fence',
  'gatewright-workspace',
  'origin',
  'idempotency-key',
  'x-gateway-api-key',
  'x-portkey-api-key',
  'x-api-key',
  'x-goog-api-key',
];

/**
 * One bit for each header, in lower case and in the usual capitalisation, which saves `toLowerCase` calls.
 */
const singleBits = new Map(
  singleHeaders.flatMap((name, at) => [
    [name, 1 << at],
    [name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()), 1 << at],
  ]),
);
const hostBit = singleBits.get('host')!;
const codingBit = singleBits.get('transfer-encoding')!;

/** Fast path: letters, digits and a few characters without special meaning, as in most targets. */
const plainTarget = /^(?:\/[A-Za-z\d_~-]+)+$/;
/** `%2f`, `%5c` and `%00` hide separators; raw backslashes, controls and `#` are invalid in a target. */
const hiddenSeparator = /%(?:2f|5c|00)/i;
const forbiddenCharacter = /[\\#\u0000-\u0020\u007f-\uffff]/;
/** Some servers remove parameters (`;…`) before they resolve dot segments. */
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|;|%3b|$)/i;

/**
 * Refuses duplicate headers, a missing host, transfer codings other than chunked, and targets that a
 * router and a handler, or a proxy and this server, could interpret differently. `rawHeaders` alternates
 * names and values as received.
 */
export function refuseAmbiguity({
  rawHeaders,
  url = '',
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'url' | 'httpVersion'>): ApiError | null {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    const bit = singleBits.get(name) ?? singleBits.get(name.toLowerCase()) ?? 0;
    if ((seen & bit) !== 0) {
      return validationError({ path: [name.toLowerCase()], message: 'was sent twice' });
    }
    seen |= bit;
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return validationError({ path: [], message: 'the protocol version must be HTTP/1.1' });
  }
  if ((seen & codingBit) !== 0 && !isPlainlyChunked(rawHeaders, httpVersion)) {
    return validationError({
      path: ['transfer-encoding'],
      message: 'must be chunked, in HTTP/1.1',
    });
  }
  if (httpVersion === '1.1' && (seen & hostBit) === 0) {
    return validationError({ path: ['host'], message: 'is missing' });
  }
  return refuseTarget(url);
}

/**
 * Whether bytes after this request may be lost. Node ignores a request to upgrade the protocol, but drops
 * the bytes that arrived in the same chunk, so its response must be the last of the connection.
 */
export function mayLoseFollowingBytes({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  if (headers.upgrade === undefined) return false;
  return headers.connection?.toLowerCase().includes('upgrade') === true;
}

/** Other codings would stay in the body, and HTTP/1.0 has no transfer coding. */
function isPlainlyChunked(rawHeaders: readonly string[], httpVersion: string): boolean {
  const at = rawHeaders.findIndex(
    (text, index) => index % 2 === 0 && text.toLowerCase() === 'transfer-encoding',
  );
  return httpVersion === '1.1' && rawHeaders[at + 1]!.toLowerCase() === 'chunked';
}

function refuseTarget(target: string): ApiError | null {
  if (plainTarget.test(target)) return null;
  const path = target.split('?', 1)[0]!;
  const ambiguous =
    !path.startsWith('/') ||
    path.includes('//') ||
    hiddenSeparator.test(path) ||
    forbiddenCharacter.test(target) ||
    dotSegment.test(path) ||
    (path.includes('%') && !isDecodable(path));
  if (!ambiguous) return null;
  return validationError({ path: [], message: 'the request target is not a plain path' });
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
