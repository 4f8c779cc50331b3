/** Parses JSON-RPC messages of MCP and writes the answers to them, as JSON or as a stream of events. */
import type { ServerResponse } from 'node:http';
import { type McpCall, McpFault, type McpObject } from './mcp-offers.ts';
import { writeMockHead } from './mock-exchange.ts';

export type McpRequestId = string | number;

export interface McpMessage {
  /** Undefined for a notification, and for an answer to a request that this server never sends. */
  readonly id: McpRequestId | undefined;
  /** Undefined for an answer. */
  readonly method: string | undefined;
  readonly params: McpObject;
}

const invalidRequestCode = -32600;
const parseErrorCode = -32700;

/** @param body a parsed body; null for one that is not JSON @throws McpFault */
export function readMcpMessage(body: unknown): McpMessage {
  if (body === null || body === undefined) throw new McpFault(parseErrorCode, 'Parse error');
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw new McpFault(invalidRequestCode, 'The body must be one JSON-RPC message');
  }
  const { jsonrpc, id, method, params = {} } = body as McpObject;
  const isAnswer = method === undefined && ('result' in body || 'error' in body);
  if (jsonrpc !== '2.0' || !(isAnswer || typeof method === 'string')) {
    throw new McpFault(invalidRequestCode, 'The body must be a JSON-RPC 2.0 message');
  }
  if (!(id === undefined || typeof id === 'string' || Number.isInteger(id))) {
    throw new McpFault(invalidRequestCode, 'The id must be a string or an integer');
  }
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw new McpFault(invalidRequestCode, 'The params must be an object');
  }
  return {
    id: isAnswer ? undefined : (id as McpRequestId | undefined),
    method: method as string | undefined,
    params: params as McpObject,
  };
}

/** The member `_meta` of the params; empty where it is no object. */
export function metaOf({ params }: McpMessage): McpObject {
  const { _meta: meta } = params;
  return typeof meta === 'object' && meta !== null ? (meta as McpObject) : {};
}

/** Progress goes to the reply, where the caller has given a token for it. */
export function mcpCallOf(
  message: McpMessage,
  reply: McpReply,
  rest: Pick<McpCall, 'signal' | 'resourceNotFoundCode'>,
): McpCall {
  const { method = '', params } = message;
  const { progressToken } = metaOf(message);
  const report = (progress: number, total: number): void => {
    if (progressToken === undefined) return;
    reply.notify('notifications/progress', { progressToken, progress, total });
  };
  return { method, params, report, ...rest };
}

/** The answer to one request. It becomes a stream with the first notification before the result. */
export class McpReply {
  readonly #response: ServerResponse;
  readonly #id: McpRequestId | undefined;
  #isStream = false;

  /** @param id undefined when the request could not be read */
  constructor(response: ServerResponse, id: McpRequestId | undefined) {
    this.#response = response;
    this.#id = id;
  }

  notify(method: string, params: McpObject): void {
    if (!this.#isStream) {
      this.#isStream = true;
      writeMockHead(this.#response, 200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      });
    }
    this.#writeEvent({ jsonrpc: '2.0', method, params });
  }

  succeed(result: McpObject, headers: Readonly<Record<string, string>> = {}): void {
    this.#end(200, { jsonrpc: '2.0', id: this.#id, result }, headers);
  }

  fail(
    status: number,
    { code, message, data }: McpFault,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.#end(status, { jsonrpc: '2.0', id: this.#id, error: { code, message, data } }, headers);
  }

  /** Ends without a result, for messages that have none and calls whose result nobody awaits. */
  accept(status = 202): void {
    if (!this.#isStream) writeMockHead(this.#response, status);
    this.#response.end();
  }

  #end(status: number, message: McpObject, headers: Readonly<Record<string, string>>): void {
    if (this.#isStream) {
      this.#writeEvent(message);
      this.#response.end();
      return;
    }
    const bytes = Buffer.from(JSON.stringify(message));
    writeMockHead(this.#response, status, {
      ...headers,
      'content-type': 'application/json',
      'content-length': bytes.length,
    });
    this.#response.end(bytes);
  }

  #writeEvent(message: McpObject): void {
    this.#response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }
}
