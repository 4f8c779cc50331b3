/** Starts a proxy that adds headers, for clients that cannot; requests take turns among its targets. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export interface HeaderShim extends AsyncDisposable {
  /** The path of the targets on an address of the shim. */
  readonly url: string;
}

export interface HeaderShimOptions {
  /** Addresses of replicas, with equal paths. */
  readonly targets: readonly string[];
  /** Added to each request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Bytes pass unchanged in both directions, and the end of one side ends the other. */
export async function startHeaderShim({
  targets,
  headers,
}: HeaderShimOptions): Promise<HeaderShim> {
  const addresses = targets.map((target) => new URL(target));
  let count = 0;
  const server = createServer((received, answer) => {
    const target = addresses[count % addresses.length]!;
    count += 1;
    const own = ownNames(received, ownHost, target);
    forward(received, answer, target, { ...received.headers, ...own, ...headers });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ownHost = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${ownHost}${addresses[0]!.pathname}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The headers that name the shim, as if the client had called the target. */
function ownNames(
  { headers: { host, origin } }: IncomingMessage,
  ownHost: string,
  target: URL,
): OutgoingHttpHeaders {
  return {
    ...(host === ownHost ? { host: target.host } : {}),
    ...(origin === `http://${ownHost}` ? { origin: target.origin } : {}),
  };
}

function forward(
  received: IncomingMessage,
  answer: ServerResponse,
  target: URL,
  headers: OutgoingHttpHeaders,
): void {
  const { method, url = '' } = received;
  const { hostname, port } = target;
  const sent = request({ host: hostname, port, method, path: url, headers }, (response) => {
    answer.writeHead(response.statusCode!, response.headers);
    // The first bytes of a stream can come much later than its headers.
    answer.flushHeaders();
    pipeline(response, answer, () => sent.destroy());
  });
  sent.on('error', () => answer.destroy());
  answer.on('close', () => sent.destroy());
  pipeline(received, sent, () => undefined);
}
