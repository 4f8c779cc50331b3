/** Runs the lower bound of a Node proxy: `node:http` and undici's dispatch, without inspecting anything. */
import { createServer, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

const [upstream] = process.argv.slice(2) as [string];
const pool = new Pool(upstream, { connections: null, pipelining: 1 });

const server = createServer({ noDelay: true }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { authorization, 'content-type': type = '' } = request.headers;
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    pool.dispatch(
      {
        path: request.url!,
        method: request.method as Dispatcher.HttpMethod,
        headers: { authorization: authorization ?? '', 'content-type': type },
        body,
      },
      new ForwardingHandler(response),
    );
  });
});

/** Sends the response in one write if the upstream did. */
class ForwardingHandler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  #length = -1;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {}

  onResponseStart(
    _: unknown,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const { 'transfer-encoding': coding, connection: _held, ...passed } = headers;
    this.#response.writeHead(status, passed);
    this.#length = Number(passed['content-length'] ?? -1);
    if (coding !== undefined) this.#response.flushHeaders();
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (chunk.length === this.#length) this.#response.end(chunk);
    else this.#response.write(chunk);
  }

  onResponseEnd(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#response.destroy(error);
  }
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
