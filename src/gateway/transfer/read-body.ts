/** Reads the body of a request completely, within a bound, and parses it as JSON. */

import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import type { BodyHold } from '../../http/input/body-hold.ts';
import { meteredMembers } from '../../model/endpoints/metering.ts';
import { countMembers, parseWithExactKeys } from '../../model/json/json-object.ts';
import { type JsonBounds, JsonScan, opensMoreThan } from '../../model/json/json-scan.ts';
import { memberNames, parseLazily } from '../../model/json/lazy-object.ts';
import { foldedName } from '../../model/json/member-name.ts';
import { isObject } from '../../model/json/read-object.ts';
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
  hold: BodyHold,
): Buffer | Promise<Buffer> | null {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && (length === undefined || length === '0')) return null;
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax);
  if (request.destroyed) throw callerGone();
  // The last byte may be buffered before `complete` is set.
  const hasArrived = request.complete || request.readableLength === Number(length);
  if (hasArrived) return readBuffered(request, bytesMax, hold);
  const isLong = length !== undefined && Number(length) > wholeBytesMin;
  return isLong ? readInto(request, Number(length), hold) : readStream(request, bytesMax, hold);
}

/** Reading the buffered bytes is much cheaper than listening to stream events. */
function readBuffered(request: IncomingMessage, bytesMax: number, hold: BodyHold): Buffer {
  const body: Buffer = request.read() ?? Buffer.alloc(0);
  if (body.length > bytesMax) throw tooLarge(bytesMax);
  hold.add(body.length);
  // Consumes the end event, without which the connection would not parse its next request.
  detach(
    'ending a request body',
    resolved.then(() => request.resume()),
  );
  return body;
}

const resolved = Promise.resolve();

/** Bodies from this length on are read into one piece of memory. */
const wholeBytesMin = 64 * 1024;

/**
 * Reads a body of known length without a second copy; all of it counts from its first byte on. Memory that nobody
 * fills is returned at once: collecting garbage may take an idle process an hour.
 */
function readInto(request: IncomingMessage, length: number, hold: BodyHold): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let body: Buffer<ArrayBuffer> | null = null;
  let bytes = 0;
  const abandon = (error: unknown): void => {
    request.pause();
    body?.buffer.transfer(0);
    body = null;
    hold.release();
    reject(error);
  };
  const begin = (): Buffer<ArrayBuffer> | null => {
    try {
      hold.add(length);
      return Buffer.from(new ArrayBuffer(length));
    } catch (thrown) {
      abandon(thrown);
      return null;
    }
  };
  request.on('data', (chunk: Buffer) => {
    if (bytes === 0) body = begin();
    if (body !== null) bytes += chunk.copy(body, bytes);
  });
  request.on('end', () => resolve(body!));
  request.on('error', reject);
  request.on('close', () => {
    if (!request.complete) abandon(callerGone());
  });
  return promise;
}

function readStream(request: IncomingMessage, bytesMax: number, hold: BodyHold): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    const isFragmented = more !== null && hasTinyChunks(more.length, bytes);
    const isRefused = bytes > bytesMax || isFragmented;
    const fault = isRefused ? null : faultOf(() => hold.add(chunk.length));
    if (isRefused || fault !== null) {
      request.pause();
      reject(fault ?? (isFragmented ? fragmented() : tooLarge(bytesMax)));
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

function faultOf(work: () => void): unknown {
  try {
    work();
    return null;
  } catch (thrown) {
    return thrown;
  }
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
 * Larger bodies are measured before they are parsed, with turns of the event loop in between. The costliest smaller
 * ones take about 20 ms to parse, and the usual requests of coding agents are smaller.
 */
const measuredBytesMin = 256 * 1024;

/**
 * Parses a JSON object within `bounds`; a large one asynchronously. Rejects duplicate top-level members, because a
 * provider could read another model or limit than the gateway.
 *
 * @throws GatewayError for a body that is not an unambiguous JSON object
 */
export function parseParams(body: Buffer, bounds: JsonBounds): Params | Promise<Params> {
  requireUtf8(body);
  // A value takes at least two bytes.
  const canExceed = body.length > 2 * bounds.valuesMax;
  if (canExceed || body.length > measuredBytesMin) return parseInTurns(body, bounds);
  if (opensMoreThan(body, bounds.depthMax)) requireBounds(new JsonScan(body, bounds).step());
  const isOutlined = body.length > outlinedBytesMin && !isAscii(body);
  const outlined = isOutlined ? parseLazily(body, membersMax) : null;
  return withPlainNames(outlined ?? wholeObject(body.toString('utf8')));
}

/** Each step takes less than 50 ms for the largest body. */
async function parseInTurns(body: Buffer, bounds: JsonBounds): Promise<Params> {
  const scan = new JsonScan(body, bounds);
  for (;;) {
    requireBounds(scan.step());
    if (scan.isDone) break;
    await nextTurn();
  }
  requireFewMembers(scan.members);
  await nextTurn();
  const text = body.toString('utf8');
  await nextTurn();
  const value = requireObject(parsed(text));
  if (Object.keys(value).length < scan.members) throw duplicateMember();
  await nextTurn();
  return withPlainNames(value);
}

function requireUtf8(body: Buffer): void {
  if (!isUtf8(body)) throw new GatewayError('invalid_json', 'The body is not valid UTF-8');
}

function requireBounds(fault: string | null): void {
  if (fault !== null) throw new GatewayError('invalid_json', `The JSON body ${fault}`);
}

function withPlainNames(params: Params): Params {
  for (const name of memberNames(params)) if (!commonNames.has(name)) refuseCaseVariant(name);
  return params;
}

function wholeObject(text: string): Params {
  const value = requireObject(parsed(text));
  const members = countMembers(text);
  requireFewMembers(members);
  if (Object.keys(value).length < members) throw duplicateMember();
  return value;
}

function requireObject(value: unknown): Params {
  if (!isObject(value)) throw new GatewayError('invalid_json', 'The body must be a JSON object');
  return value as Params;
}

function requireFewMembers(members: number): void {
  if (members <= membersMax) return;
  const message = `The JSON body has ${members} members; at most ${membersMax} are accepted`;
  throw new GatewayError('invalid_json', message);
}

function duplicateMember(): GatewayError {
  return new GatewayError('invalid_json', 'The JSON body contains a duplicate member');
}

/** Members that the gateway evaluates. */
const evaluated: ReadonlySet<string> = new Set([
  ...meteredMembers,
  'model',
  'models',
  'agent_id',
  'inputs',
  'stream',
  'stream_options',
  'prompt',
  'user',
]);

/** Whether a provider that ignores case could read a member of this name as one that the gateway evaluates. */
export function isEvaluatedMember(name: string): boolean {
  return evaluated.has(foldedName(name));
}

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
  if (!isEvaluatedMember(name)) return;
  const folded = foldedName(name);
  throw new GatewayError('invalid_json', `${folded} must be in lower case`, folded);
}

function parsed(text: string): unknown {
  try {
    return parseWithExactKeys(text);
  } catch {
    throw new GatewayError('invalid_json', 'The body is not valid JSON');
  }
}
