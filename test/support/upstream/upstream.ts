/** Starts a model provider with scripted responses, and records its requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ReachedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** Names and values as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Resolves when the connection or the response of this request has ended. */
  readonly closed: Promise<void>;
}

type Script = (request: ReachedRequest, response: ServerResponse) => void | Promise<void>;

export interface TestUpstream extends AsyncDisposable {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string;
  /** `127.0.0.1:port`, in the form of TRUSTED_CUSTOM_HOSTS. */
  readonly host: string;
  /** Every request, in order. */
  readonly reached: ReachedRequest[];
  /** Answers all following requests. */
  script: Script;
  /** Resolves with the next request. */
  next(): Promise<ReachedRequest>;
}

/** Responds with this JSON. */
export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = { 'content-type': 'application/json', 'content-length': bytes.length };
  response.writeHead(status, headers).end(bytes);
}

export const chatAnswer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-test',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
};

export async function startUpstream(
  script: Script = (_, response) => sendJson(response, chatAnswer),
): Promise<TestUpstream> {
  const reached: ReachedRequest[] = [];
  let waiting: ((request: ReachedRequest) => void)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const one: ReachedRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks),
      closed: new Promise((resolve) => response.once('close', () => resolve())),
    };
    reached.push(one);
    for (const tell of waiting) tell(one);
    waiting = [];
    await upstream.script(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const upstream: TestUpstream = {
    url: `http://127.0.0.1:${port}/v1`,
    host: `127.0.0.1:${port}`,
    reached,
    script,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return upstream;
}
