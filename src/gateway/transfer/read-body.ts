/** Reads the body of a request completely, within a bound, and parses it as JSON. */

import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { detach } from '../../detached.ts';
import { countMembers, parseWithExactKeys } from '../../model/json/json-object.ts';
import { memberNames, parseLazily } from '../../model/json/lazy-object.ts';
import { GatewayError } from './gateway-error.ts';
import { hasTinyChunks } from './tiny-chunks.ts';

/**
 * Null for a request without a body. Synchronous when the whole body has arrived, which is usual because it comes in
 * the same packet as the headers.
 *
 * @throws GatewayError when the body exceeds the bound
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Buffer | Promise<Buffer> | null {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && (length === undefined || length === '0')) return null;
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax);
  if (request.destroyed) throw callerGone();
  // The last byte may be buffered before `complete` is set.
  const hasArrived = request.complete || request.readableLength === Number(length);
  return hasArrived ? readBuffered(request, bytesMax) : readStream(request, bytesMax);
}

/** Reading the buffered bytes is much cheaper than listening to stream events. */
function readBuffered(request: IncomingMessage, bytesMax: number): Buffer {
  const body: Buffer = request.read() ?? Buffer.alloc(0);
  if (body.length > bytesMax) throw tooLarge(bytesMax);
  // Consumes the end event, without which the connection would not parse its next request.
  detach(
    'ending a request body',
    resolved.then(() => request.resume()),
  );
  return body;
}

const resolved = Promise.resolve();

function readStream(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    const isFragmented = more !== null && hasTinyChunks(more.length, bytes);
    if (bytes > bytesMax || isFragmented) {
      request.pause();
      reject(isFragmented ? fragmented() : tooLarge(bytesMax));
    } else if (first === null) first = chunk;
    else {
      more ??= [first];
      more.push(chunk);
    }
  });
  request.on('end', () =>
    resolve(more === null ? (first ?? Buffer.alloc(0)) : Buffer.concat(more)),
  );
  request.on('error', reject);
  request.on('close', () => {
    if (!request.complete) reject(callerGone());
  });
  return promise;
}

function callerGone(): Error {
  return new Error('the caller disconnected');
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError('body_too_large', `The body has more than ${bytesMax} bytes`);
}

function fragmented(): GatewayError {
  return new GatewayError('invalid_request', 'The body is sent in chunks that are too small');
}

export type Params = Readonly<Record<string, unknown>>;

/** Whether the content type is JSON or missing. */
export function isJsonType(type: string | undefined): boolean {
  return type === undefined || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

/** Bound of top-level members. Requests have a few dozen; each is expensive and inspected repeatedly. */
const membersMax = 1_000;

/** Smaller bodies are cheaper to parse completely. */
const outlinedBytesMin = 8 * 1024;

/**
 * Parses a JSON object. Rejects duplicate top-level members, because a provider could read another model or limit
 * than the gateway.
 *
 * @throws GatewayError for a body that is not an unambiguous JSON object
 */
export function parseParams(body: Buffer): Params {
  if (!isUtf8(body)) throw new GatewayError('invalid_json', 'The body is not valid UTF-8');
  const isOutlined = body.length > outlinedBytesMin && !isAscii(body);
  const outlined = isOutlined ? parseLazily(body, membersMax) : null;
  const params = outlined ?? wholeObject(body.toString('utf8'));
  for (const name of memberNames(params)) if (!commonNames.has(name)) refuseCaseVariant(name);
  return params;
}

function wholeObject(text: string): Params {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new GatewayError('invalid_json', 'The body must be a JSON object');
  }
  const members = countMembers(text);
  if (members > membersMax) {
    const message = `The JSON body has ${members} members; at most ${membersMax} are accepted`;
    throw new GatewayError('invalid_json', message);
  }
  if (Object.keys(value).length < members) {
    throw new GatewayError('invalid_json', 'The JSON body contains a duplicate member');
  }
  return value as Params;
}

/** Members that the gateway evaluates. */
const evaluated = new Set([
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n',
  'best_of',
  'prompt',
  'user',
]);

/** Common names, which need no further check. */
const commonNames = new Set([
  ...evaluated,
  'messages',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'system',
  'response_format',
  'input',
  'instructions',
  'metadata',
  'seed',
  'reasoning_effort',
]);

/** Rejects names such as `MODEL`, which a case-insensitive provider would read as `model`. */
function refuseCaseVariant(name: string): void {
  if (/^[a-z\d_]*$/.test(name)) return;
  const folded = name.toUpperCase().toLowerCase();
  if (!evaluated.has(folded)) return;
  throw new GatewayError('invalid_json', `${folded} must be in lower case`, folded);
}

function parsed(text: string): unknown {
  try {
    return parseWithExactKeys(text);
  } catch {
    throw new GatewayError('invalid_json', 'The body is not valid JSON');
  }
}
