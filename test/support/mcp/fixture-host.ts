/** Serves an MCP fixture over HTTP on a free port, with a journal of what reached it. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** A request that reached the fixture. */
interface FixtureRequest {
  readonly httpMethod: string;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; null for none. */
  readonly body: unknown;
  /** The body as it arrived. */
  readonly text: string;
}

export interface McpFixture extends AsyncDisposable {
  /** `http://127.0.0.1:port/mcp`. */
  readonly url: string;
  /** In order of arrival; proves what was called and what was not. */
  readonly journal: readonly FixtureRequest[];
}

/** Answers one request; `body` is undefined for none. */
export type FixtureHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
) => Promise<void>;

/** Ports belong to the operating system, so only names decide. */
const ownNames = ['localhost', '127.0.0.1', '[::1]'];

/** Rejects Host and Origin headers that do not name this machine, as servers without credentials must. */
export async function hostFixture(
  handle: FixtureHandler,
  close: () => Promise<void>,
): Promise<McpFixture> {
  const journal: FixtureRequest[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method: httpMethod = '', headers } = request;
    const { host = '', origin } = headers;
    const isOwn = isOwnName(`http://${host}`) && (origin === undefined || isOwnName(origin));
    const sent = await readText(request);
    const body = sent === '' ? null : parse(sent);
    journal.push({ httpMethod, headers, body, text: sent });
    if (!isOwn) return refuse(response, 403, -32000, 'Forbidden host or origin');
    if (body === undefined) return refuse(response, 400, -32700, 'Parse error');
    await handle(request, response, body ?? undefined);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    journal,
    [Symbol.asyncDispose]: async () => {
      await close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Answers with an error that belongs to no request. */
export function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

function isOwnName(origin: string): boolean {
  return URL.canParse(origin) && ownNames.includes(new URL(origin).hostname);
}

/** Undefined for text that is not JSON. */
function parse(sent: string): unknown {
  try {
    return JSON.parse(sent);
  } catch {
    return undefined;
  }
}
