/** Knows which requests can be read in two ways, so that no proxy in front sees another request than we do. */
import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../model/errors.ts';
import { validationError } from '../model/validation-error.ts';

/** Headers of which a second copy would let two readers act on different values. */
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
];

/** A bit for each; in small letters, and as most clients write them, so that theirs are not made small first. */
const singleBits = new Map(
  singleHeaders.flatMap((name, at) => [
    [name, 1 << at],
    [name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()), 1 << at],
  ]),
);
const hostBit = singleBits.get('host')!;
const codingBit = singleBits.get('transfer-encoding')!;

/** Of letters, digits and a few marks that no reader takes for anything else, as most are. */
const plainTarget = /^(?:\/[A-Za-z\d_~-]+)+$/;
/** `%2f`, `%5c` and `%00` hide separators; raw backslashes, controls and `#` never belong in a target. */
const hiddenSeparator = /%(?:2f|5c|00)/i;
const forbiddenCharacter = /[\\#\u0000-\u0020\u007f-\uffff]/;
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Refuses duplicate headers, a host left open, codings of a body that not all know, and targets that a
 * router and a handler, or a proxy and this server, could read differently. `rawHeaders` alternates names
 * and values as received.
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
    return validationError({ path: [], message: 'the request must be of HTTP/1.1' });
  }
  if ((seen & codingBit) !== 0 && !isPlainlyChunked(rawHeaders, httpVersion)) {
    return validationError({
      path: ['transfer-encoding'],
      message: 'must be chunked, and of HTTP/1.1',
    });
  }
  if (httpVersion === '1.1' && (seen & hostBit) === 0) {
    return validationError({ path: ['host'], message: 'is missing' });
  }
  return refuseTarget(url);
}

/**
 * Whether bytes that follow a request may be lost, since it asks for another protocol: the server heeds that
 * no further, but has dropped what came in one piece with it. So its answer has to be the last of its connection.
 */
export function hidesNext({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  if (headers.upgrade === undefined) return false;
  return headers.connection?.toLowerCase().includes('upgrade') === true;
}

/** Other codings would stay in the body, and readers of HTTP/1.0 know of none. */
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
