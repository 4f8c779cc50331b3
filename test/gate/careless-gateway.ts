/** Control of the gate: gateways that check a limit before a request and count its usage afterwards. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { Pool as Connections } from 'undici';
import type { DatabaseSettings } from '../../src/settings.ts';

interface CarelessOptions {
  /** Uses its own table, which {@link addBook} creates. */
  readonly database: DatabaseSettings;
  /** Base URL of the provider: `http://127.0.0.1:port/v1`. */
  readonly providerUrl: string;
  /** Limit of all gateways together, in tokens. */
  readonly tokens: number;
}

export interface CarelessGateway extends AsyncDisposable {
  readonly inferenceUrl: string;
}

function openPool({ host, port, user, password, name }: DatabaseSettings): Pool {
  return createPool({ host, port, user, password: password?.reveal() ?? '', database: name });
}

/** Table in which these gateways count. */
export async function addBook(database: DatabaseSettings): Promise<void> {
  const pool = openPool(database);
  await pool.query('CREATE TABLE careless_book (id INT PRIMARY KEY, used BIGINT NOT NULL)');
  await pool.query('INSERT INTO careless_book VALUES (1, 0)');
  await pool.end();
}

/** One of several gateways; disposal stops it. */
export async function startCarelessGateway(options: CarelessOptions): Promise<CarelessGateway> {
  const book = openPool(options.database);
  const { origin } = new URL(options.providerUrl);
  const provider = new Connections(origin, { pipelining: 1 });
  const server = createServer((request, response) => {
    answer(request, response, { ...options, book, provider }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, () => resolve()));
  return {
    inferenceUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await provider.destroy();
      await book.end();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  {
    tokens,
    book,
    provider,
  }: CarelessOptions & { readonly book: Pool; readonly provider: Connections },
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const [rows] = await book.query<RowDataPacket[]>('SELECT used FROM careless_book WHERE id = 1');
  if (Number(rows[0]!.used) >= tokens) {
    response.writeHead(412, { 'content-type': 'application/json' });
    response.end('{"error":{"code":"usage_limit_exceeded"}}');
    return;
  }
  const requested = await provider.request({
    path: request.url!,
    method: 'POST',
    body: Buffer.concat(chunks),
    headers: { 'content-type': 'application/json' },
  });
  const text = await requested.body.text();
  const used = [...text.matchAll(/"(?:prompt|completion)_tokens":(\d+)/g)];
  const sum = used.reduce((total, [, count]) => total + Number(count), 0);
  await book.query('UPDATE careless_book SET used = used + ? WHERE id = 1', [sum]);
  response.writeHead(requested.statusCode, { 'content-type': 'application/json' }).end(text);
}
