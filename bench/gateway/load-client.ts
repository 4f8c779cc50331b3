/** Knows how requests are sent at the least cost: their bytes made once, answers looked at as far as their end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** Times by `performance.now()`. */
export interface Answered {
  /** From the first byte of the request to the first of the body, ms. */
  readonly firstMs: number;
  /** To the last, ms. */
  readonly wholeMs: number;
}

/** The bytes of a chat completion with these headers. */
export function requestBytes(headers: Readonly<Record<string, string>>, body: object): Buffer {
  const text = JSON.stringify(body);
  const all = {
    ...{ host: '127.0.0.1', accept: 'application/json', 'user-agent': 'bench' },
    ...{ 'content-type': 'application/json', ...headers },
    'content-length': String(Buffer.byteLength(text)),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
}

/** One connection that is kept, with one request at a time. */
export class Connection {
  readonly #socket: Socket;
  #begun: Buffer | null = null;
  /** Bytes of the body that are still to come; -1 for one in chunks. */
  #missing = 0;
  #sentMs = 0;
  #firstMs = 0;
  #answer: PromiseWithResolvers<Answered> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk as Buffer));
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

  /** Rejects for any answer but 200, with what it says. */
  ask(bytes: Buffer): Promise<Answered> {
    this.#answer = Promise.withResolvers();
    this.#sentMs = performance.now();
    this.#firstMs = 0;
    this.#socket.write(bytes);
    return this.#answer.promise;
  }

  close(): void {
    this.#answer = null;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#firstMs > 0) {
      this.#goOn(chunk);
      return;
    }
    const all = this.#begun === null ? chunk : Buffer.concat([this.#begun, chunk]);
    const end = all.indexOf(headEnd);
    if (end < 0 || end + headEnd.length === all.length) {
      this.#begun = all;
      return;
    }
    this.#begun = null;
    const head = all.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 200')) {
      this.#fail(new Error(all.toString().slice(0, 2_000)));
      return;
    }
    this.#firstMs = performance.now();
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#missing = length === undefined ? -1 : Number(length);
    this.#goOn(all.subarray(end + headEnd.length));
  }

  #goOn(chunk: Buffer): void {
    if (this.#missing < 0) {
      // No text of JSON has the line breaks of a last chunk in it.
      if (chunk.subarray(-lastChunk.length).equals(lastChunk)) this.#end();
      return;
    }
    this.#missing -= chunk.length;
    if (this.#missing === 0) this.#end();
  }

  #end(): void {
    const sentMs = this.#sentMs;
    const wholeMs = performance.now() - sentMs;
    this.#answer?.resolve({ firstMs: this.#firstMs - sentMs, wholeMs });
    this.#answer = null;
  }

  #fail(error: Error): void {
    this.#answer?.reject(error);
    this.#answer = null;
  }
}

/** Connections that are kept between measurements. */
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

  /** So many requests over all connections, each sending the next when it is answered; resolves to milliseconds. */
  async send(count: number, bytesAt: (at: number) => Buffer): Promise<number> {
    // Servers close what has been idle for seconds, while others have their turn.
    this.#connections = await Promise.all(
      this.#connections.map((one) => (one.isOpen ? one : Connection.open(this.#url))),
    );
    let sent = 0;
    const worker = async (connection: Connection): Promise<void> => {
      while (sent < count) {
        sent += 1;
        await connection.ask(bytesAt(sent));
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
