/** Sends requests of the gateway to a server of the legacy era, and reads the messages of its responses. */

import { isObject, readJson } from '../../model/json/read-object.ts';
import { isEventStream, isJsonBody } from '../../model/wire/media-type.ts';
import { Call, CallCut } from '../../upstream/call.ts';
import { AddressRefused } from '../../upstream/guarded-connect.ts';
import type { Origins } from '../../upstream/origins.ts';
import { StreamEventReader } from '../messages/event-stream.ts';
import {
  PlaneFault,
  serverFailed,
  serverUnreachable,
  serverUnusable,
} from '../messages/plane-fault.ts';
import { postHeaders } from '../messages/post-headers.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { chunksOf } from '../transfer/response-chunks.ts';

/** A server, and the headers that the gateway sends to it: names in lower case, values with credentials. */
export interface LegacyServer {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Receives one message; resolves when it can take another one. */
export type MessageSink = (message: RpcObject, bytes: number) => Promise<void>;

/** Where a stream can be resumed. */
export interface StreamPosition {
  /** Null when the server has named no event. */
  lastEventId: string | null;
  /** Wait before the stream is opened again. */
  retryMs: number;
}

/** The session does not exist any more. The server has not processed the request. */
export class SessionLost extends Error {
  override name = 'SessionLost';
}

/** The server does not accept the credentials of the gateway. */
export class CredentialsRefused extends PlaneFault {
  /** The response, which may demand another token. */
  readonly call: Pick<Call, 'status' | 'headers'>;

  constructor(call: Pick<Call, 'status' | 'headers'>) {
    const why = `it rejects the credentials of the gateway (${call.status})`;
    super('server_unusable', `The MCP server cannot be used: ${why}`);
    this.call = call;
  }
}

/** Bound of one message. */
const messageBytesMax = 8 * 1024 * 1024;
const defaultRetryMs = 1_000;
const retryMsMax = 30_000;

export class LegacyTransport {
  readonly server: LegacyServer;
  readonly #origins: Pick<Origins, 'at'>;

  constructor(origins: Pick<Origins, 'at'>, server: LegacyServer) {
    this.#origins = origins;
    this.server = server;
  }

  /** @param headers of the protocol; they take precedence */
  send(
    method: 'GET' | 'POST' | 'DELETE',
    headers: Readonly<Record<string, string>>,
    body: RpcObject | null,
    silenceTimeoutMs: number,
  ): Call {
    const { origin, pathname, search } = this.server.url;
    const all: Record<string, string> = { ...this.server.headers, 'accept-encoding': 'identity' };
    if (method === 'GET') all.accept = 'text/event-stream';
    if (method === 'POST') Object.assign(all, postHeaders);
    return new Call(this.#origins.at(origin), {
      origin,
      path: pathname + search,
      method,
      headers: { ...all, ...headers },
      body: body === null ? null : Buffer.from(JSON.stringify(body)),
      silenceTimeoutMs,
    });
  }
}

/** Waits for the head of a response. @throws SessionLost @throws PlaneFault */
export async function requireResponse(call: Call): Promise<void> {
  try {
    await call.responseStarted;
  } catch (cause) {
    const { code = 'no response' } = cause as NodeJS.ErrnoException;
    const why = cause instanceof AddressRefused ? cause.message : `no response (${code})`;
    throw serverUnreachable(why, cause);
  }
  const { status } = call;
  if (status < 300) return;
  // Other errors of the protocol have a message that belongs to the call.
  if (
    status >= 400 &&
    isJsonBody(call.headers) &&
    ![401, 403, 404].includes(status) &&
    status < 500
  )
    return;
  dropResponse(call);
  if (status === 404) throw new SessionLost('the session does not exist');
  if (status === 401 || status === 403) throw new CredentialsRefused(call);
  if (status < 400) throw serverUnusable(`it redirects (${status}), which is not followed`);
  throw serverFailed(status);
}

/** Passes all messages of a response to the sink. @throws PlaneFault for a body that cannot be read */
export async function readResponse(
  call: Call,
  sink: MessageSink,
  position: StreamPosition,
): Promise<void> {
  if (isEventStream(call.headers)) await readEvents(call, sink, position);
  else if (isJsonBody(call.headers)) await readJsonBody(call, sink);
  else dropResponse(call);
}

export function startOfStream(): StreamPosition {
  return { lastEventId: null, retryMs: defaultRetryMs };
}

/** The body is not needed. */
export function dropResponse(call: Call): void {
  call.pipe({ data: () => true, end: () => {}, fail: () => {} });
  call.cut(new CallCut('the response is not needed'));
}

async function readJsonBody(call: Call, sink: MessageSink): Promise<void> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(call)) {
    bytes += chunk.length;
    if (bytes > messageBytesMax) {
      call.cut(new CallCut('the response is too long'));
      throw serverUnusable(`its response has more than ${messageBytesMax} bytes`);
    }
    pieces.push(chunk);
  }
  const message = readJson(Buffer.concat(pieces).toString('utf8'));
  if (message === undefined) throw serverUnusable('its response is not valid JSON');
  for (const one of [message].flat()) if (isObject(one)) await sink(one, bytes);
}

async function readEvents(call: Call, sink: MessageSink, position: StreamPosition): Promise<void> {
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(call)) {
    for (const { bytes, data } of reader.push(chunk)) {
      notePosition(bytes, position);
      const message = data === null ? undefined : readJson(data);
      if (isObject(message)) await sink(message, bytes.length);
    }
  }
}

function notePosition(event: Buffer, position: StreamPosition): void {
  for (const line of event.toString('utf8').split(/\r\n|\n|\r/)) {
    const id = /^id: ?([!-~]{1,1024})$/.exec(line)?.[1];
    const retry = /^retry: ?(\d{1,9})$/.exec(line)?.[1];
    if (id !== undefined) position.lastEventId = id;
    if (retry !== undefined) position.retryMs = Math.min(Number(retry), retryMsMax);
  }
}
