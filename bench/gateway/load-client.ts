/** Sends requests at minimal cost: bytes are encoded once, and responses are scanned only for their end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** Times of one response. */
export interface ResponseTimes {
  /** From the first byte of the request to the first byte of the body, ms. */
  readonly firstMs: number;
  /** From the first byte of the request to the last byte of the body, ms. */
  readonly wholeMs: number;
}

/** Encodes a request with these headers, by default for a chat completion. */
export function requestBytes(
  headers: Readonly<Record<string, string>>,
  body: object,
  path = '/v1/chat/completions',
): Buffer {
  const text = JSON.stringify(body);
  const all = {
    host: '127.0.0.1',
    accept: 'application/json',
    'user-agent': 'bench',
    'content-type': 'application/json',
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
}

/** A keep-alive connection with one request at a time. */
export class Connection {
  readonly #socket: Socket;
  #partialHead: Buffer | null = null;
  /** Bytes of the body that are still to arrive; -1 for a chunked body. */
  #missing = 0;
  #sentMs = 0;
  #firstMs = 0;
  #pending: PromiseWithResolvers<ResponseTimes> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk as Buffer));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Rejects for any status but 200, with the response text. */
  send(bytes: Buffer): Promise<ResponseTimes> {
    this.#pending = Promise.withResolvers();
    this.#sentMs = performance.now();
    this.#firstMs = 0;
    this.#socket.write(bytes);
    return this.#pending.promise;
  }

  close(): void {
    this.#pending = null;
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    if (this.#firstMs > 0) {
      this.#receiveBody(chunk);
      return;
    }
    const all = this.#partialHead === null ? chunk : Buffer.concat([this.#partialHead, chunk]);
    const end = all.indexOf(headEnd);
    if (end < 0 || end + headEnd.length === all.length) {
      this.#partialHead = all;
      return;
    }
    this.#partialHead = null;
    const head = all.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 200')) {
      this.#fail(new Error(all.toString().slice(0, 2_000)));
      return;
    }
    this.#firstMs = performance.now();
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#missing = length === undefined ? -1 : Number(length);
    this.#receiveBody(all.subarray(end + headEnd.length));
  }

  #receiveBody(chunk: Buffer): void {
    if (this.#missing < 0) {
      // JSON text cannot contain the line breaks of a last chunk.
      if (chunk.subarray(-lastChunk.length).equals(lastChunk)) this.#end();
      return;
    }
    this.#missing -= chunk.length;
    if (this.#missing === 0) this.#end();
  }

  #end(): void {
    const sentMs = this.#sentMs;
    const wholeMs = performance.now() - sentMs;
    this.#pending?.resolve({ firstMs: this.#firstMs - sentMs, wholeMs });
    this.#pending = null;
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = null;
  }
}

/** A pool of connections that is reused between measurements. */
export class Load {
  readonly #url: string;
  #connections: readonly Connection[];

  private constructor(url: string, connections: readonly Connection[]) {
    this.#url = url;
    this.#connections = connections;
  }

  static async open(url: string, connections: number): Promise<Load> {
    const all = Array.from({ length: connections }, () => Connection.open(url));
    return new Load(url, await Promise.all(all));
  }

  /** Sends `count` requests over all connections, each one request at a time. Returns the elapsed ms. */
  async send(count: number, bytesAt: (at: number) => Buffer): Promise<number> {
    // Servers close idle connections after a few seconds while other targets are measured.
    this.#connections = await Promise.all(
      this.#connections.map((one) => (one.isOpen ? one : Connection.open(this.#url))),
    );
    let sent = 0;
    const worker = async (connection: Connection): Promise<void> => {
      while (sent < count) {
        sent += 1;
        await connection.send(bytesAt(sent));
      }
    };
    const began = performance.now();
    await Promise.all(this.#connections.map(worker));
    return performance.now() - began;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
