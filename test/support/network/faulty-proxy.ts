/** Knows how a network fails between a client and a server: a real proxy that cuts, refuses and delays by plan. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `cut-before`: the connection breaks before the server sees the request. `cut-after`: the server
 * carries it out and the answer is lost. `dead`: as cut-before, for good. A number answers that
 * status in the server's place.
 */
export type Fate = 'pass' | 'cut-before' | 'cut-after' | 'dead' | number;

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string;
  /** Requests seen so far. */
  readonly seen: number;
}

/** Whether a request of a client asks only: its answer may be lost, and nothing is otherwise for that. */
export function isQuestion(request: string): boolean {
  return /^GET |^POST \S+\/(access_token|key-proofs)$/.test(request);
}

/**
 * Fates by which the answers to all questions are lost, each once, when `lost` is 0, else that to the
 * request which is the `lost`-th to change something.
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

/** `fateOf` is asked for every request, numbered from 1: `POST /v2/configs`; it waits for the answer. */
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
