/** Receives what sync posts to external systems: a real HTTP server with scripted responses. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface ReceivedPost {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ReturnType<typeof JSON.parse>;
  readonly raw: string;
}

/** A response: a status, headers and a text, a partial response, or none at all. */
type Reply =
  | 'never'
  | 'endless'
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly text?: string;
    };

export interface Receiver extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly received: readonly ReceivedPost[];
  /** Responses of the next requests, one each; then 200. */
  readonly replies: Reply[];
}

export async function startReceiver(...replies: Reply[]): Promise<Receiver> {
  const received: ReceivedPost[] = [];
  const server: Server = createServer((request, response) => {
    void text(request).then((raw) => {
      const body = raw === '' ? null : JSON.parse(raw);
      received.push({ path: request.url ?? '', headers: request.headers, body, raw });
      const reply = replies.shift() ?? { status: 200 };
      if (reply === 'endless') response.writeHead(200).write('{');
      else if (reply !== 'never')
        response.writeHead(reply.status, reply.headers).end(reply.text ?? '{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    replies,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
