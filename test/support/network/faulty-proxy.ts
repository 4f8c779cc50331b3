/**
 * Simulates network failures between client and server: a real proxy that cuts, rejects and delays
 * as planned.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `cut-before`: the connection breaks before the server receives the request. `cut-after`: the
 * server executes it and the response is lost. `dead`: like cut-before, permanently. A number is
 * returned as status in place of the server.
 */
export type Fate = 'pass' | 'cut-before' | 'cut-after' | 'dead' | number;

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string;
  /** Number of requests so far. */
  readonly seen: number;
}

/** Returns whether a request only reads, so that losing its response changes nothing. */
export function isQuestion(request: string): boolean {
  return /^GET |^POST \S+\/(access_token|key-proofs)$/.test(request);
}

/**
 * Loses the response of every read once when `lost` is 0, otherwise the response of the `lost`-th
 * write.
 */
export function losing(lost: number): (index: number, request: string) => Fate {
  const requested = new Map<string, number>();
  let changes = 0;
  return (_, request) => {
    if (!isQuestion(request)) return ++changes === lost ? 'cut-after' : 'pass';
    const times = (requested.get(request) ?? 0) + 1;
    requested.set(request, times);
    return lost === 0 && times % 2 === 1 ? 'cut-after' : 'pass';
  };
}

/**
 * Calls `fateOf` for every request, numbered from 1, with for example `POST /v2/configs`, and
 * awaits the result.
 */
export async function startFaultyProxy(
  target: string,
  fateOf: (index: number, request: string) => Fate | Promise<Fate>,
): Promise<FaultyProxy> {
  let seen = 0;
  let dead = false;
  const server = createServer(async (incoming, outgoing) => {
    seen += 1;
    const fate = dead ? 'dead' : await fateOf(seen, `${incoming.method} ${incoming.url}`);
    if (fate === 'dead') dead = true;
    if (fate === 'cut-before' || fate === 'dead') incoming.socket.destroy();
    else if (typeof fate === 'number') refuse(outgoing, fate);
    else forward(target, incoming, outgoing, fate === 'cut-after');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get seen() {
      return seen;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(outgoing: ServerResponse, status: number): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
  outgoing.end(
    JSON.stringify({ error: { message: 'by plan', code: 'AB06', param: '', type: '' } }),
  );
}

function forward(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  losesAnswer: boolean,
): void {
  const { method, headers, url } = incoming;
  const onward = request(target + url, { method, headers: { ...headers, connection: 'close' } });
  onward.on('response', (answer) => {
    if (losesAnswer) {
      answer.resume();
      answer.on('end', () => incoming.socket.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => incoming.socket.destroy());
  incoming.pipe(onward);
}
