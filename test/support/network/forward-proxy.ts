/**
 * Starts a forward proxy as companies have them: only it resolves names ending in .test, all to
 * this machine.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ForwardProxy extends AsyncDisposable {
  readonly url: string;
  /** For example `CONNECT git.test:443` or `GET http://api.test/v2/configs`, in order. */
  readonly requests: string[];
  /** Required credentials as `user:password`, when set. */
  credentials: string | null;
  /** When true, requests are accepted and never answered. */
  silent: boolean;
}

const unwelcome = `HTTP/1.1 407 Proxy Authentication Required
Proxy-Authenticate: Basic realm="proxy"
Content-Length: 0
Connection: close

`.replaceAll('\n', '\r\n');

export async function startForwardProxy(): Promise<ForwardProxy> {
  const sockets = new Set<Socket>();
  const isWelcome = ({ headers }: IncomingMessage): boolean => {
    const basic = Buffer.from(proxy.credentials ?? '').toString('base64');
    return proxy.credentials === null || headers['proxy-authorization'] === `Basic ${basic}`;
  };
  const server = createServer((requested, answer) => {
    proxy.requests.push(`${requested.method} ${requested.url}`);
    if (proxy.silent) return;
    if (isWelcome(requested)) forward(requested, answer);
    else answer.writeHead(407, { 'proxy-authenticate': 'Basic' }).end();
  });
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (requestValue: IncomingMessage, socket: Socket) => {
    proxy.requests.push(`CONNECT ${requestValue.url}`);
    socket.on('error', () => socket.destroy());
    if (proxy.silent) return;
    if (!isWelcome(requestValue)) return void socket.end(unwelcome);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const upstream = connect(placeOf(new URL(`http://${requestValue.url}`)));
    sockets.add(upstream);
    upstream.on('error', () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: ForwardProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    credentials: null,
    silent: false,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

function forward(requestValue: IncomingMessage, answer: ServerResponse): void {
  const url = new URL(requestValue.url ?? '');
  const { method, headers } = requestValue;
  const path = `${url.pathname}${url.search}`;
  const onward = request({ ...placeOf(url), path, method, headers }, (reply) => {
    answer.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(answer);
  });
  onward.on('error', () => answer.destroy());
  requestValue.pipe(onward);
}

function placeOf({ hostname, port }: URL): { host: string; port: number } {
  if (!hostname.endsWith('.test')) throw new Error(`${hostname} was to be reached without a proxy`);
  return { host: '127.0.0.1', port: Number(port) };
}
