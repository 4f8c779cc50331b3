/** Starts a small MCP server of both eras that records every request, as the witness of refusals. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

type RpcMessage = ReturnType<typeof JSON.parse>;

export interface JournalEntry {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; undefined without one. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface McpJournal extends AsyncDisposable {
  /** `http://127.0.0.1:port/mcp`. */
  readonly url: string;
  readonly host: string;
  /** Requests in order. */
  readonly journal: JournalEntry[];
  /** Names of the tools that were called. */
  readonly calls: () => string[];
  /** Whether responses are streams of events. */
  streams: boolean;
  /** Returns the result or error of a request; null for the usual one. */
  answer: ((message: RpcMessage) => object | null) | null;
  /** Whether the headers of a request admit it; any other is 401. Null admits every request. */
  guard: ((headers: IncomingHttpHeaders) => Promise<boolean>) | null;
  /** Answers in place of the server, unless it is null. */
  script: ((request: JournalEntry, response: ServerResponse) => void) | null;
  /** Answers in place of the server when it returns true. */
  intercept:
    | ((request: JournalEntry, response: ServerResponse) => boolean | Promise<boolean>)
    | null;
  /** Messages on a stream before the response. */
  before: readonly object[];
  /** Sends a message on every open stream. */
  push(message: object): void;
  readonly openStreams: () => number;
}

const tools = [
  { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
  { name: 'add', inputSchema: { type: 'object' } },
  { name: 'drop_table', inputSchema: { type: 'object' } },
];
const prompts = [{ name: 'greet' }, { name: 'leak' }];
const resources = [
  { name: 'readme', uri: 'test://readme' },
  { name: 'secret', uri: 'test://secret' },
];
const resourceTemplates = [{ name: 'notes', uriTemplate: 'note://{id}' }];

/** Listens on any free port by default. */
export async function startMcpJournal(listenedPort = 0): Promise<McpJournal> {
  const streams = new Set<ServerResponse>();
  let sessions = 0;
  const server = createServer((request, response) => {
    void read(request).then(async (entry) => {
      upstream.journal.push(entry);
      if (await upstream.intercept?.(entry, response)) return;
      const isAdmitted = upstream.guard === null || (await upstream.guard(entry.headers));
      if (!isAdmitted) response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      else if (upstream.script !== null) upstream.script(entry, response);
      else serve(entry, response);
    });
  });
  const serve = (entry: JournalEntry, response: ServerResponse): void => {
    if (entry.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': open\n\n');
      streams.add(response);
      response.on('close', () => streams.delete(response));
      return;
    }
    if (entry.method === 'DELETE') return void response.writeHead(200).end();
    const messages = [entry.body].flat();
    const answers = messages.flatMap((message) =>
      message.id === undefined || message.method === undefined
        ? []
        : [{ jsonrpc: '2.0', id: message.id, ...resultOf(upstream, message) }],
    );
    if (answers.length === 0) return void response.writeHead(202).end();
    const opens = messages.some(({ method }) => method === 'initialize');
    sessions += Number(opens);
    const headers = opens ? { 'mcp-session-id': `session-${sessions}` } : {};
    const all = [...upstream.before, ...answers];
    if (upstream.streams) {
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
      for (const message of all) response.write(`data: ${JSON.stringify(message)}\n\n`);
      response.end();
      return;
    }
    const body = Array.isArray(entry.body) ? answers : answers[0];
    response.writeHead(200, { ...headers, 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  server.listen(listenedPort, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream: McpJournal = {
    url: `http://${host}/mcp`,
    host,
    journal: [],
    calls: () =>
      upstream.journal
        .flatMap(({ body }) => [body].flat())
        .filter((message) => message?.method === 'tools/call')
        .map((message) => message.params.name),
    streams: false,
    answer: null,
    guard: null,
    script: null,
    intercept: null,
    before: [],
    push: (message) => {
      for (const stream of streams) stream.write(`data: ${JSON.stringify(message)}\n\n`);
    },
    openStreams: () => streams.size,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return upstream;
}

async function read(request: IncomingMessage): Promise<JournalEntry> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const { method = '', url = '', headers } = request;
  const isJson = text !== '' && String(headers['content-type']).startsWith('application/json');
  return { method, url, headers, text, body: isJson ? JSON.parse(text) : undefined };
}

function resultOf(upstream: McpJournal, message: RpcMessage): object {
  const { method, params } = message;
  const own = upstream.answer?.(message);
  if (own !== undefined && own !== null) return own;
  const result = (value: object) => ({ result: value });
  const unknown = (what: string) => ({ error: { code: -32602, message: `${what} not found` } });
  switch (method) {
    case 'initialize':
      return result({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: 'journal', version: '1' },
      });
    case 'server/discover':
      return result({
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, prompts: {}, resources: {} },
        ttlMs: 0,
        cacheScope: 'private',
      });
    case 'tools/list':
      return result({ tools });
    case 'prompts/list':
      return result({ prompts });
    case 'resources/list':
      return result({ resources });
    case 'resources/templates/list':
      return result({ resourceTemplates });
    case 'tools/call': {
      const known = tools.some(({ name }) => name === params.name);
      const text = String(params.arguments?.text ?? 'done');
      return known ? result({ content: [{ type: 'text', text }] }) : unknown(`Tool ${params.name}`);
    }
    case 'prompts/get':
      return prompts.some(({ name }) => name === params.name)
        ? result({ messages: [] })
        : unknown(`Prompt ${params.name}`);
    case 'resources/read':
      return resources.some(({ uri }) => uri === params.uri)
        ? result({ contents: [{ uri: params.uri, text: 'text' }] })
        : unknown(`Resource ${params.uri}`);
    default:
      return result({});
  }
}
