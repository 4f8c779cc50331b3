/** Sends thousands of requests at little CPU cost, and bytes that no HTTP client would send. */
import { connect, type Socket } from 'node:net';

export interface RawRequest {
  readonly method: string;
  /** The target of the request line, with its query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with its length unless `headers` frame it otherwise. */
  readonly body?: string | Buffer | undefined;
}

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Everything that distinguishes one response from another, as text. */
export function comparableResponse({ status, headers, body }: RawAnswer): string {
  const { date, 'x-request-id': id, ...stated } = headers;
  return JSON.stringify([status, stated, body, date !== undefined, id !== undefined]);
}

/** Below the limit of the server, so that it closes no connection. */
const requestsPerConnectionMax = 900;

/** Responses arrive in the order of requests; each connection has one request at a time. */
export class RawClient implements Disposable {
  readonly #port: number;
  readonly #host: string;
  readonly #idle: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  readonly #open = new Set<Connection>();
  readonly #connectionsMax: number;

  constructor(url: string, connectionsMax = 4) {
    const { hostname, port, host } = new URL(url);
    this.#port = Number(port);
    this.#host = host;
    this.#connectionsMax = connectionsMax;
    if (hostname !== '127.0.0.1') throw new Error(`${hostname} is not this machine`);
  }

  /** Rejects when the connection ends before the response is complete. */
  async send(request: RawRequest): Promise<RawAnswer> {
    return this.sendBytes(bytesOf(request, this.#host), request.method);
  }

  /** Sends one request as bytes, head and body; returns its response. */
  async sendBytes(bytes: Buffer, method = 'GET'): Promise<RawAnswer> {
    const connection = await this.#take();
    try {
      const answer = await connection.exchange(bytes, method);
      if (answer.headers.connection === 'close') connection.end();
      return answer;
    } catch (error) {
      connection.end();
      throw error;
    } finally {
      this.#giveBack(connection);
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#open) connection.end();
  }

  #take(): Promise<Connection> | Connection {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#open.size < this.#connectionsMax) return this.#connect();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #giveBack(connection: Connection): void {
    const isSpent = connection.isOver || connection.requests >= requestsPerConnectionMax;
    if (isSpent) {
      connection.end();
      this.#open.delete(connection);
    }
    const next = this.#waiting.shift();
    if (next !== undefined) next(isSpent ? this.#connect() : connection);
    else if (!isSpent) this.#idle.push(connection);
  }

  #connect(): Connection {
    const connection = new Connection(connect(this.#port, '127.0.0.1'));
    this.#open.add(connection);
    return connection;
  }
}

class Connection {
  requests = 0;
  isOver = false;
  readonly #socket: Socket;
  #received = '';
  #method = '';
  #settle: { resolve(answer: RawAnswer): void; reject(error: Error): void } | null = null;

  constructor(socket: Socket) {
    this.#socket = socket.setEncoding('latin1').setNoDelay();
    socket.on('data', (text) => this.#take(String(text)));
    const over = (error?: Error): void => {
      this.isOver = true;
      this.#settle?.reject(error ?? new Error(`the connection ended after: ${this.#received}`));
      this.#settle = null;
    };
    socket.on('error', over).on('close', () => over());
  }

  exchange(bytes: Buffer, method: string): Promise<RawAnswer> {
    this.requests += 1;
    this.#method = method;
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.#settle = { resolve, reject };
    this.#socket.write(bytes);
    return promise;
  }

  end(): void {
    this.isOver = true;
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const read = readAnswer(this.#received, this.#method);
    if (read === null) return;
    this.#received = this.#received.slice(read.length);
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve(read.answer);
  }
}

function bytesOf({ method, target, headers = {}, body }: RawRequest, host: string): Buffer {
  const content = typeof body === 'string' ? Buffer.from(body) : body;
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`);
  const isFramed = 'transfer-encoding' in headers || 'content-length' in headers;
  if (content !== undefined && !isFramed) lines.push(`content-length: ${content.length}`);
  const head = Buffer.from(
    `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`,
    'latin1',
  );
  return content === undefined ? head : Buffer.concat([head, content]);
}

/** Null until the response is complete. */
function readAnswer(text: string, method: string): { answer: RawAnswer; length: number } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const status = Number(first.split(' ')[1]);
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const start = end + 4;
  const isEmpty = method === 'HEAD' || status === 204 || status === 304;
  if (!isEmpty && headers['transfer-encoding'] === 'chunked') {
    const read = readChunks(text, start);
    return read && { answer: { status, headers, body: utf8(read.body) }, length: read.end };
  }
  const length = start + (isEmpty ? 0 : Number(headers['content-length'] ?? 0));
  if (text.length < length) return null;
  return { answer: { status, headers, body: utf8(text.slice(start, length)) }, length };
}

function readChunks(text: string, start: number): { body: string; end: number } | null {
  let body = '';
  for (let at = start; ; ) {
    const line = text.indexOf('\r\n', at);
    if (line < 0) return null;
    const size = Number.parseInt(text.slice(at, line), 16);
    const end = line + 2 + size + 2;
    if (text.length < end) return null;
    if (size === 0) return { body, end };
    body += text.slice(line + 2, line + 2 + size);
    at = end;
  }
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}
