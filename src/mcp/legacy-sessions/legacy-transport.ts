/** Sends requests of the gateway to a server of the legacy era, and reads the messages of its responses. */

import { isObject } from '../../model/json/read-object.ts';
import { isEventStream, isJsonBody } from '../../model/wire/media-type.ts';
import { CallCut } from '../../upstream/call.ts';
import { AddressRefused } from '../../upstream/guarded-connect.ts';
import { callMcpServer, type ServerConnections } from '../event-transport/call-mcp-server.ts';
import { StreamEventReader } from '../messages/event-stream.ts';
import {
  PlaneFault,
  serverFailed,
  serverUnreachable,
  serverUnusable,
} from '../messages/plane-fault.ts';
import { postHeaders } from '../messages/post-headers.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { readServerBody, readServerEvent } from '../messages/server-json.ts';
import type { ResponseReading } from '../transfer/read-response.ts';
import { chunksOf, type ServerCall } from '../transfer/response-chunks.ts';

/** A server, and the headers that the gateway sends to it: names in lower case, values with credentials. */
export interface LegacyServer {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the server speaks HTTP+SSE. */
  readonly isEventTransport: boolean;
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
  readonly call: Pick<ServerCall, 'status' | 'headers'>;

  constructor(call: Pick<ServerCall, 'status' | 'headers'>) {
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
  readonly #connections: ServerConnections;
  readonly #principal: string;

  /** @param principal the caller and the server that it calls */
  constructor(connections: ServerConnections, server: LegacyServer, principal: string) {
    this.#connections = connections;
    this.server = server;
    this.#principal = principal;
  }

  /** Begins to read one response, whose messages count in the memory until it is released. */
  beginReading(): ResponseReading {
    const { responseMemory, jsonBounds: bounds } = this.#connections;
    return { memory: responseMemory.hold(this.#principal), bounds };
  }

  /** @param headers of the protocol; they take precedence */
  send(
    method: 'GET' | 'POST' | 'DELETE',
    headers: Readonly<Record<string, string>>,
    body: RpcObject | null,
    silenceTimeoutMs: number,
  ): ServerCall {
    const { url, isEventTransport } = this.server;
    const all: Record<string, string> = { ...this.server.headers, 'accept-encoding': 'identity' };
    if (method === 'GET') all.accept = 'text/event-stream';
    if (method === 'POST') Object.assign(all, postHeaders);
    return callMcpServer(this.#connections, {
      principal: this.#principal,
      isEventTransport,
      url,
      method,
      headers: { ...all, ...headers },
      body: body === null ? null : Buffer.from(JSON.stringify(body)),
      silenceTimeoutMs,
    });
  }
}

/** Waits for the head of a response. @throws SessionLost @throws PlaneFault */
export async function requireResponse(call: ServerCall): Promise<void> {
  try {
    await call.responseStarted;
  } catch (cause) {
    if (cause instanceof PlaneFault) throw cause;
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

/**
 * Passes all messages of a response to the sink. `memory` counts each until the sink has taken it.
 *
 * @throws PlaneFault for a body that cannot be read @throws GatewayError when there is no memory for it
 */
export async function readResponse(
  call: ServerCall,
  sink: MessageSink,
  position: StreamPosition,
  reading: ResponseReading,
): Promise<void> {
  try {
    if (isEventStream(call.headers)) await readEvents(call, sink, position, reading);
    else if (isJsonBody(call.headers)) await readJsonBody(call, sink, reading);
    else dropResponse(call);
  } finally {
    reading.memory.release();
  }
}

export function startOfStream(): StreamPosition {
  return { lastEventId: null, retryMs: defaultRetryMs };
}

/** The body is not needed. */
export function dropResponse(call: ServerCall): void {
  call.pipe({ data: () => true, end: () => {}, fail: () => {} });
  call.cut(new CallCut('the response is not needed'));
}

async function readJsonBody(
  call: ServerCall,
  sink: MessageSink,
  { memory, bounds }: ResponseReading,
): Promise<void> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(call)) {
    bytes += chunk.length;
    if (bytes > messageBytesMax) {
      call.cut(new CallCut('the response is too long'));
      throw serverUnusable(`its response has more than ${messageBytesMax} bytes`);
    }
    addMemory(call, memory, chunk.length);
    pieces.push(chunk);
  }
  const message = await readServerBody(Buffer.concat(pieces), bounds);
  for (const one of [message].flat()) if (isObject(one)) await sink(one, bytes);
}

async function readEvents(
  call: ServerCall,
  sink: MessageSink,
  position: StreamPosition,
  { memory, bounds }: ResponseReading,
): Promise<void> {
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(call)) {
    addMemory(call, memory, chunk.length);
    for (const { bytes, data } of reader.push(chunk)) {
      notePosition(bytes, position);
      const message = data === null ? undefined : await readServerEvent(Buffer.from(data), bounds);
      if (isObject(message)) await sink(message, bytes.length);
      memory.add(-bytes.length);
    }
  }
}

/** @throws GatewayError when there is no memory for it; the rest is not received */
function addMemory(call: ServerCall, memory: ResponseReading['memory'], bytes: number): void {
  try {
    memory.add(bytes);
  } catch (error) {
    call.cut(new CallCut('there is no memory for the response'));
    throw error;
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
