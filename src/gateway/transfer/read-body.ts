/** Knows how the body of a request is taken in: whole, bounded, and read as JSON where it is that. */
import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { countMembers, parseWithExactKeys } from '../../model/json/json-object.ts';
import { memberNames, parseLazily } from '../../model/json/lazy-object.ts';
import { GatewayError } from './gateway-error.ts';
import { hasTinyChunks } from './tiny-chunks.ts';

/**
 * The bytes; null for a request without any. Yields at once where all of them have come, as those of most
 * requests have when the piece that the headers came with is read.
 *
 * @throws GatewayError beyond the bound
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Buffer | Promise<Buffer> | null {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && (length === undefined || length === '0')) return null;
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax);
  if (request.destroyed) throw callerGone();
  // The last byte is there before the end is told.
  const isThere = request.complete || request.readableLength === Number(length);
  return isThere ? takenOf(request, bytesMax) : comingOf(request, bytesMax);
}

/** To take what lies there costs a fraction of waiting for the events of a stream. */
function takenOf(request: IncomingMessage, bytesMax: number): Buffer {
  const body: Buffer = request.read() ?? Buffer.alloc(0);
  if (body.length > bytesMax) throw tooLarge(bytesMax);
  // Else its end would be waited for, with the next request of the connection behind it; nothing of this one is.
  void inAMoment.then(() => request.resume());
  return body;
}

const inAMoment = Promise.resolve();

function comingOf(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    const isCrumbled = more !== null && hasTinyChunks(more.length, bytes);
    if (bytes > bytesMax || isCrumbled) {
      request.pause();
      reject(isCrumbled ? crumbled() : tooLarge(bytesMax));
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
  return new Error('the caller has gone');
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError('body_too_large', `The body has more than ${bytesMax} bytes`);
}

function crumbled(): GatewayError {
  return new GatewayError('invalid_request', 'The body comes in pieces that are too small');
}

export type Params = Readonly<Record<string, unknown>>;

/** Whether a body says that it is JSON, or says nothing and so is taken for it. */
export function isJsonType(type: string | undefined): boolean {
  return type === undefined || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

/** At the top. Requests have some dozens; each costs as much as hundreds of letters do, and is looked at again and again. */
const membersMax = 1_000;

/** Smaller ones cost less to read as a whole. */
const outlinedBytesMin = 8 * 1024;

/**
 * What an object in JSON says. A body is refused that a provider could read otherwise: with a member
 * twice at the top, where the model and the bounds of an answer stand.
 */
export function parseParams(body: Buffer): Params {
  if (!isUtf8(body)) throw new GatewayError('invalid_json', 'The body is no valid UTF-8');
  const isOutlined = body.length > outlinedBytesMin && !isAscii(body);
  const outlined = isOutlined ? parseLazily(body, membersMax) : null;
  const params = outlined ?? wholeObject(body.toString('utf8'));
  for (const name of memberNames(params)) if (!usual.has(name)) refuseTwin(name);
  return params;
}

function wholeObject(text: string): Params {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new GatewayError('invalid_json', 'The body must be a JSON object');
  }
  const members = countMembers(text);
  if (members > membersMax) {
    const message = `The JSON body has ${members} members, where ${membersMax} are read at most`;
    throw new GatewayError('invalid_json', message);
  }
  if (Object.keys(value).length < members) {
    throw new GatewayError('invalid_json', 'The JSON body has the same member twice');
  }
  return value as Params;
}

/** What the gateway judges by. */
const judged = new Set([
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

/** Which most requests have, so that they cost no more than a look. */
const usual = new Set([
  ...judged,
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

/** Some providers heed no case, and would read `MODEL` where `model` was judged. */
function refuseTwin(name: string): void {
  if (/^[a-z\d_]*$/.test(name)) return;
  const folded = name.toUpperCase().toLowerCase();
  if (!judged.has(folded)) return;
  throw new GatewayError('invalid_json', `${folded} must be written in small letters`, folded);
}

function parsed(text: string): unknown {
  try {
    return parseWithExactKeys(text);
  } catch {
    throw new GatewayError('invalid_json', 'The body is no valid JSON');
  }
}
