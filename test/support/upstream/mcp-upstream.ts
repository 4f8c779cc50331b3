/** Starts a real MCP server, with streamable HTTP at `/mcp` and SSE at `/sse`. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createServer as createEverything } from '@modelcontextprotocol/server-everything/dist/server/index.js';

export interface McpUpstream extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** Headers of each request, in order. */
  readonly reached: IncomingHttpHeaders[];
  /** Answers in place of the server, unless it is null. */
  script: RequestListener | null;
}

/** Starts the reference server with every feature, a new one for each session. */
export async function startMcpUpstream(): Promise<McpUpstream> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const streams = new Map<string, SSEServerTransport>();
  const ends: (() => void)[] = [];
  const serve = async (transport: Transport): Promise<void> => {
    const { server, cleanup } = createEverything();
    ends.push(() => cleanup(transport.sessionId));
    await server.connect(transport);
  };
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const made = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, made),
    });
    await serve(made as Transport);
    return made;
  };
  const answer = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url!, 'http://any');
    const session = sessions.get(String(request.headers['mcp-session-id']));
    if (pathname === '/mcp') {
      await (session ?? (await open())).handleRequest(request, response);
    } else if (pathname === '/sse') {
      const transport = new SSEServerTransport('/message', response);
      streams.set(transport.sessionId, transport);
      await serve(transport);
    } else {
      await streams.get(searchParams.get('sessionId')!)?.handlePostMessage(request, response);
    }
  };
  const server = createServer((request, response) => {
    upstream.reached.push(request.headers);
    if (upstream.script !== null) upstream.script(request, response);
    else void answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upstream: McpUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached: [],
    script: null,
    [Symbol.asyncDispose]: async () => {
      for (const end of ends) end();
      await closed(server);
    },
  };
  return upstream;
}

async function closed(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}
