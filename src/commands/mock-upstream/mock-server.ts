/** HTTP server of the mock upstream: echoes inference requests, and serves MCP at `/mcp`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { McpEndpoint } from './mcp-endpoint.ts';
import { readMockJson, writeMockHead } from './mock-exchange.ts';
import { type MockRequestBody, type MockResponse, mockResponse } from './mock-responses.ts';

export interface MockServer extends AsyncDisposable {
  /** `http://127.0.0.1:8790/v1`, for use as a custom host. */
  readonly url: string;
  /** `http://127.0.0.1:8790/mcp`, for use as the URL of an MCP integration. */
  readonly mcpUrl: string;
}

/** Port 0 selects a free port. @throws the system's error when the port cannot be used */
export async function startMockServer(host: string, port: number): Promise<MockServer> {
  let endpoint: Promise<McpEndpoint> | null = null;
  const server = createServer((request, response) => {
    const isMcp = /^\/mcp\/?(?:\?|$)/.test(request.url ?? '');
    if (isMcp) endpoint ??= openMcp();
    const answered =
      isMcp && endpoint !== null
        ? endpoint.then((mcp) => mcp.answer(request, response))
        : answer(request, response);
    answered.catch(() => response.destroy());
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(port, host, () => listening.resolve());
  await listening.promise;
  const { port: taken } = server.address() as AddressInfo;
  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${urlHost}:${taken}/v1`,
    mcpUrl: `http://${urlHost}:${taken}/mcp`,
    [Symbol.asyncDispose]: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

/** Loads the MCP server on its first request, which most starts of the mock upstream never get. */
async function openMcp(): Promise<McpEndpoint> {
  const { McpEndpoint } = await import('./mcp-endpoint.ts');
  return new McpEndpoint();
}

const noObject = { message: 'The body is no JSON object', type: 'invalid_request_error' };

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '' } = request;
  const path = url.split('?', 1)[0]!.replace(/^\/v1(?=\/)/, '');
  const body = requestBodyOf(await readMockJson(request));
  const mock: MockResponse =
    body === null
      ? { kind: 'json', status: 400, body: { error: noObject } }
      : mockResponse(method, path, body);
  if (mock.kind === 'json') {
    const bytes = Buffer.from(JSON.stringify(mock.body));
    const headers = { 'content-type': 'application/json', 'content-length': bytes.length };
    writeMockHead(response, mock.status, headers);
    response.end(bytes);
    return;
  }
  writeMockHead(response, 200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
  });
  for (const event of mock.events) response.write(event);
  response.end();
}

/** Empty for an empty body; null for one that is no object. */
function requestBodyOf(read: unknown): MockRequestBody | null {
  if (read === undefined) return {};
  return typeof read === 'object' ? (read as MockRequestBody | null) : null;
}
