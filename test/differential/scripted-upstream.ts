/** Scripted provider of both gateways: each case has its own places, which respond by script and record requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chatAnswer } from '../support/upstream/upstream.ts';

/** One response of a place; by default a normal one of chat completions. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; text as it is. */
  readonly body?: unknown;
  /** Chunks of a stream, each sent separately, in place of `body`. */
  readonly events?: readonly string[];
  /**
   * `silent` never responds, `reset` closes the connection instead of responding, `cut` does so after
   * the body, `stall` sends the body and never ends.
   */
  readonly fault?: 'silent' | 'reset' | 'cut' | 'stall';
}

/** A request that reached a place. */
export interface ReceivedRequest {
  readonly place: string;
  readonly method: string;
  /** Path below the address of the place, with the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Responses of each place in order; the last one repeats. */
export type Script = Readonly<Record<string, readonly Answer[]>>;

export interface ScriptedUpstream extends AsyncDisposable {
  readonly host: string;
  /** Opens the places of one request of one gateway: `base` is the prefix of their addresses, `reached` collects requests. */
  room(script: Script): { readonly base: string; readonly reached: readonly ReceivedRequest[] };
}

interface Room {
  readonly script: Script;
  readonly reached: ReceivedRequest[];
}

export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  const rooms: Room[] = [];
  const server = createServer(async (request, response) => {
    const [, at, place, path] = /^\/(\d+)\/([^/]+)(.*)$/.exec(request.url!)!;
    const { script, reached } = rooms[Number(at)]!;
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    const before = reached.filter((one) => one.place === place).length;
    reached.push({
      place: place!,
      method: request.method!,
      path: path!,
      headers: request.headers,
      body,
    });
    const answers = script[place!] ?? [{}];
    await answer(response, answers[Math.min(before, answers.length - 1)]!);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  return {
    host,
    room: (script) => {
      const reached: ReceivedRequest[] = [];
      const at = rooms.push({ script, reached }) - 1;
      return { base: `http://${host}/${at}`, reached };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(response: ServerResponse, { status = 200, ...given }: Answer): Promise<void> {
  const { headers = {}, body = chatAnswer, events, fault } = given;
  if (fault === 'silent') return;
  if (fault === 'reset') {
    response.socket!.resetAndDestroy();
    return;
  }
  const isText = typeof body === 'string';
  const type = events !== undefined ? 'text/event-stream' : 'application/json';
  response.writeHead(status, { ...(isText ? {} : { 'content-type': type }), ...headers });
  for (const piece of events ?? [isText ? body : JSON.stringify(body)]) {
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
  }
  if (fault === 'cut') response.destroy();
  else if (fault === undefined) response.end();
}
