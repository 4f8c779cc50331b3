/** HTTP server of the mock upstream: echoes JSON requests as one response or as a stream. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type MockRequestBody, type MockResponse, mockResponse } from './mock-responses.ts';

export interface MockServer extends AsyncDisposable {
  /** `http://127.0.0.1:8790/v1`, for use as a custom host. */
  readonly url: string;
}

const bodyBytesMax = 32 * 1024 * 1024;

/** Port 0 selects a free port. @throws the system's error when the port cannot be used */
export async function startMockServer(host: string, port: number): Promise<MockServer> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(port, host, () => listening.resolve());
  await listening.promise;
  const { port: taken } = server.address() as AddressInfo;
  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${urlHost}:${taken}/v1`,
    [Symbol.asyncDispose]: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '' } = request;
  const path = url.split('?', 1)[0]!.replace(/^\/v1(?=\/)/, '');
  const body = await readJson(request);
  const mock: MockResponse =
    body === null
      ? { kind: 'json', status: 400, body: { error: { message: 'The body is no JSON object' } } }
      : mockResponse(method, path, body);
  if (mock.kind === 'json') {
    const bytes = Buffer.from(JSON.stringify(mock.body));
    const headers = { 'content-type': 'application/json', 'content-length': bytes.length };
    response.writeHead(mock.status, headers).end(bytes);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of mock.events) response.write(event);
  response.end();
}

/** The body as an object, empty for an empty body; null for anything else. */
async function readJson(request: IncomingMessage): Promise<MockRequestBody | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  if (bytes === 0) return {};
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as MockRequestBody) : null;
  } catch {
    return null;
  }
}
