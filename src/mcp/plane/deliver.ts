/** Delivers the response of a server to the caller: unread where no rule needs it, else message by message. */

import { isUtf8 } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { BodyHold } from '../../http/input/body-hold.ts';
import { endWith } from '../../http/responses/end-response.ts';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import { isEventStream, isJsonBody } from '../../model/wire/media-type.ts';
import { type StreamEvent, StreamEventReader, withEventData } from '../messages/event-stream.ts';
import { serverFailed, serverUnusable } from '../messages/plane-fault.ts';
import { hasDuplicateKeys } from '../messages/read-messages.ts';
import type { ServerErrors } from '../messages/server-errors.ts';
import { readServerBody, readServerEvent, writeServerMessage } from '../messages/server-json.ts';
import type { EventOutput } from '../streams/event-output.ts';
import { chunksOf, type LiveResponse, wholeBody, writeChunk } from '../transfer/response-chunks.ts';
import type { ServerMessages } from './server-messages.ts';

export interface ResponseDelivery {
  readonly call: LiveResponse;
  readonly response: ServerResponse;
  readonly messages: ServerMessages;
  readonly errors: ServerErrors;
  /** Bounds of messages that rules must read. */
  readonly jsonBounds: JsonBounds;
  readonly output: EventOutput;
  /** Seals what a message wants back with a retry. */
  readonly seal: (message: unknown) => unknown;
  /** Counts the bytes of messages that are read before they are sent. */
  readonly memory: BodyHold;
  /** Headers of the gateway; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Bound of a message that rules must read. */
export const messageBytesMax = 8 * 1024 * 1024;
/** Longer responses without rules of their own are relayed unread: they neither ask nor say that a name is unknown. */
const shortBytesMax = 64 * 1024;
const nothing = Buffer.alloc(0);

/** Headers of the server that callers receive. */
const passedNames = [
  'content-type',
  'content-encoding',
  'content-length',
  'cache-control',
  'retry-after',
  'allow',
  'mcp-protocol-version',
];

/** @throws PlaneFault before anything is sent when the response cannot be delivered */
export async function deliverResponse(delivery: ResponseDelivery): Promise<void> {
  const { call, response, headers } = delivery;
  const { status } = call;
  requireDeliverable(delivery);
  if (status === 202 || status === 204 || typeOf(call) === 'none') {
    drop(call);
    writeResponseHead(response, status, { ...headers, 'content-length': '0' });
    response.end();
  } else if (typeOf(call) === 'events') await deliverEvents(delivery);
  else await deliverJson(delivery);
}

type BodyType = 'json' | 'events' | 'none' | 'other';

function typeOf({ headers }: Pick<LiveResponse, 'headers'>): BodyType {
  if (isJsonBody(headers)) return 'json';
  if (isEventStream(headers)) return 'events';
  // A body without a type is left out.
  return (headers['content-type'] ?? '') === '' ? 'none' : 'other';
}

/** @throws PlaneFault for a response that a client cannot use */
export function requireDeliverable({
  call,
  messages,
}: Pick<ResponseDelivery, 'call' | 'messages'>): void {
  const { status, headers } = call;
  const type = typeOf(call);
  if (status === 202 || status === 204) return;
  if (status === 401 || status === 403) {
    throw serverUnusable(`it rejects the credentials of the gateway (${status})`);
  }
  if (status >= 300 && status < 400) {
    throw serverUnusable(`it redirects (${status}), which is not followed`);
  }
  if (status >= 400 && type !== 'json') throw serverFailed(status, { status });
  if (type === 'other') throw serverUnusable('its response is neither JSON nor a stream of events');
  const hasRules = messages.mustRead || messages.mayBeUnknown;
  if (hasRules && isEncoded({ headers }))
    throw serverUnusable('its response is compressed unasked');
}

function isEncoded({ headers }: Pick<LiveResponse, 'headers'>): boolean {
  return (headers['content-encoding'] ?? 'identity') !== 'identity';
}

/** Responses to requests are read where that is possible, so that nothing else is taken for one. */
function isRead({ call, messages }: ResponseDelivery): boolean {
  const hasRules = messages.mustRead || messages.mayBeUnknown;
  return hasRules || (messages.expectsAnswer && !isEncoded(call));
}

function passedHeaders(
  { call, headers }: ResponseDelivery,
  keepsBytes: boolean,
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of passedNames) {
    const value = call.headers[name];
    if (typeof value !== 'string') continue;
    if (keepsBytes || (name !== 'content-length' && name !== 'content-encoding')) {
      passed[name] = value;
    }
  }
  return Object.assign(passed, headers);
}

/** The body is not needed. */
function drop(call: LiveResponse): void {
  call.pipe({ data: () => true, end: () => {}, fail: () => {} });
}

async function deliverJson(delivery: ResponseDelivery): Promise<void> {
  const { call, response, messages, errors, memory } = delivery;
  const { mustRead } = messages;
  const gathered: Buffer[] = [];
  let bytes = 0;
  // An error of the transport belongs to no call.
  let isRelayed = call.status >= 400 ? !messages.isExact : !isRead(delivery);
  if (isRelayed) writeResponseHead(response, call.status, passedHeaders(delivery, true));
  else if (statedLength(call) <= shortBytesMax) {
    const body = await wholeBody(call);
    memory.add(body.length);
    await sendTaken(delivery, body);
    return;
  }
  for await (const chunk of chunksOf(call)) {
    if (isRelayed) {
      errors.noteRelayed(chunk);
      await writeChunk(response, chunk);
      continue;
    }
    memory.add(chunk.length);
    gathered.push(chunk);
    bytes += chunk.length;
    if (!mustRead && bytes > shortBytesMax) {
      isRelayed = true;
      writeResponseHead(response, call.status, passedHeaders(delivery, true));
      for (const one of gathered) errors.noteRelayed(one);
      await writeChunk(response, Buffer.concat(gathered));
    } else if (bytes > messageBytesMax) {
      throw serverUnusable(`its response has more than ${messageBytesMax} bytes`);
    }
  }
  if (!isRelayed) await sendTaken(delivery, Buffer.concat(gathered));
  else {
    errors.noteRelayedEnd(false);
    response.end();
  }
}

/** Infinite where the head states none. */
function statedLength({ headers: { 'content-length': stated } }: LiveResponse): number {
  return typeof stated === 'string' ? Number(stated) : Number.POSITIVE_INFINITY;
}

async function sendTaken(delivery: ResponseDelivery, body: Buffer): Promise<void> {
  const { call, response, messages } = delivery;
  const sent = (await takenBody(delivery, body)) ?? body;
  const headers = passedHeaders(delivery, false);
  // With another encoding in its type the judged bytes would be read as another text.
  if (messages.isExact) headers['content-type'] = 'application/json';
  writeResponseHead(response, call.status, { ...headers, 'content-length': String(sent.length) });
  endWith(response, sent);
}

/** Null when the bytes can be sent as they are. @throws PlaneFault for what cannot be read */
async function takenBody(
  { call: { status }, messages, seal, jsonBounds }: ResponseDelivery,
  body: Buffer,
): Promise<Buffer | null> {
  const message = await readServerBody(body, jsonBounds);
  if (messages.isExact && !isUtf8(body)) throw serverUnusable('its response is not valid UTF-8');
  if (messages.isExact && (await hasDuplicateKeys(body))) {
    throw serverUnusable('its response contains a duplicate member');
  }
  const taken = seal(await messages.take(message));
  if (taken === message) return null;
  if (taken === null && status >= 400) throw serverFailed(status, { status });
  if (taken === null) throw serverUnusable('its response belongs to another request');
  return writeServerMessage(taken, body.length);
}

async function deliverEvents(delivery: ResponseDelivery): Promise<void> {
  const { call, response, messages, errors, output, memory } = delivery;
  const isTaken = isRead(delivery);
  const headers = passedHeaders(delivery, !isTaken);
  headers['x-accel-buffering'] = 'no';
  if (messages.isExact || messages.isOpenEnded) headers['content-type'] = 'text/event-stream';
  writeResponseHead(response, call.status, headers);
  // Sends the head before the first event.
  response.write(nothing);
  if (isTaken) output.start();
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(call)) {
    if (!isTaken) {
      errors.noteRelayed(chunk);
      await output.write(chunk);
      continue;
    }
    const before = reader.heldBytes;
    const events = reader.push(chunk);
    memory.add(reader.heldBytes - before);
    for (const event of events) {
      const bytes = await takenEvent(delivery, event);
      if (bytes !== null) await output.write(bytes);
    }
  }
  errors.noteRelayedEnd(true);
  response.end();
}

/** Null for an event that the caller does not receive. */
async function takenEvent(
  { messages, seal, jsonBounds }: ResponseDelivery,
  event: StreamEvent,
): Promise<Buffer | null> {
  const { data, bytes } = event;
  // Comments keep the connection alive; an event without data carries an id to resume from.
  if (data === null || data === '') return messages.isExact ? withoutText(event) : bytes;
  const json = Buffer.from(data);
  const message = await readServerEvent(json, jsonBounds);
  if (message === undefined) return null;
  if (messages.isExact && (await hasDuplicateKeys(json))) return null;
  const taken = seal(await messages.take(message));
  if (taken === null) return null;
  // Judged events are built anew, so that their other lines carry no text.
  if (taken === message && !messages.isExact) return bytes;
  const isSame = taken === message && !/[\n\r]/.test(data);
  const text = isSame ? data : (await writeServerMessage(taken, json.length)).toString('utf8');
  return withEventData(messages.isExact ? withoutComments(event) : event, text);
}

function withoutText({ bytes, data }: StreamEvent): Buffer {
  if (data === null) return Buffer.from(': keep-alive\n\n');
  return withEventData(withoutComments({ bytes, data }), '');
}

/** Leaves only the lines that a client evaluates. */
function withoutComments(event: StreamEvent): StreamEvent {
  const lines = event.bytes.toString('utf8').split(/\r\n|\n|\r/);
  const evaluated = lines.filter((line) =>
    /^(?:id: ?[!-~]{0,256}|event: ?message|retry: ?\d{1,9})$/.test(line),
  );
  return { bytes: Buffer.from(`${evaluated.join('\n')}\n`), data: event.data };
}
