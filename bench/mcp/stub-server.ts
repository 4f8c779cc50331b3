/** Simulates an MCP server at minimal cost: one result for each call, a list of 5,000 tools, and streams that stay open. Under `/few` it has few tools, and sessions that gateways with a client of their own need. */
import { createServer, type Socket } from 'node:net';

const toolCount = 5_000;
const description = 'Reads one record of the system of records by its identifier. ';

const tools = Array.from({ length: toolCount }, (_, at) => ({
  name: `tool-${at}`,
  description: description.repeat(2),
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
}));
const text = 'x'.repeat(120);
const called = jsonResponse({ content: [{ type: 'text', text }] });
const listed = JSON.stringify({ tools });
const opened = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
    '8\r\n: open\n\n\r\n',
);

/** Every call of the benchmark has the id 1. */
function jsonResponse(result: object): Buffer {
  return httpResponse(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
}

/** The gateway lists too, with ids of its own. */
function listResponse(request: string): Buffer {
  const id = /"id":("[^"]*"|\d+)/.exec(request)?.[1] ?? 'null';
  return httpResponse(`{"jsonrpc":"2.0","id":${id},"result":${listed}}`);
}

function httpResponse(body: string): Buffer {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

const server = createServer({ noDelay: true }, (socket) => {
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    if (!isComplete(received)) return;
    const request = received;
    received = '';
    respond(socket, request);
  });
  socket.on('error', () => socket.destroy());
});

function isComplete(request: string): boolean {
  const end = request.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0);
  return request.length >= end + 4 + length;
}

/** The response to a client that evaluates it: with its id, and without a body for a notification. */
function fewResponse(request: string): Buffer {
  const method = request.slice(0, request.indexOf(' '));
  const body = request.slice(request.indexOf('\r\n\r\n') + 4);
  if (method !== 'POST') return statusResponse(method === 'GET' ? 405 : 200);
  const message = JSON.parse(body) as { id?: unknown; method: string; params?: object };
  const { id, params } = message;
  if (id === undefined) return statusResponse(202);
  return httpResponse(
    JSON.stringify({ jsonrpc: '2.0', id, result: fewResult(message.method, params) }),
  );
}

function fewResult(method: string, params: object | undefined): object {
  if (method === 'initialize') {
    const { protocolVersion } = params as { protocolVersion: string };
    const serverInfo = { name: 'stub', version: '1' };
    return { protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === 'tools/list') return { tools: tools.slice(0, 8) };
  return method === 'tools/call' ? { content: [{ type: 'text', text }] } : {};
}

function statusResponse(status: number): Buffer {
  return Buffer.from(`HTTP/1.1 ${status} Status\r\ncontent-length: 0\r\n\r\n`);
}

function respond(socket: Socket, request: string): void {
  const path = request.split(' ', 2)[1]!;
  if (path.startsWith('/few')) {
    socket.write(fewResponse(request));
    return;
  }
  if (request.startsWith('GET')) socket.write(opened);
  else socket.write(request.includes('tools/list') ? listResponse(request) : called);
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
