/**
 * Starts a model provider on bare sockets, which records every request and answers with arbitrary
 * bytes.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { chatAnswer } from '../upstream/upstream.ts';

interface RawReached {
  /** Request line and headers as received. */
  readonly head: string;
  readonly body: string;
  /** Resolves when its connection has ended. */
  readonly closed: Promise<unknown>;
}

export interface RawUpstream extends AsyncDisposable {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string;
  readonly host: string;
  /** In order of arrival over all connections. */
  readonly reached: RawReached[];
  /** Bytes of the next responses in order; then the default response. */
  readonly answers: string[];
  /** Sends these bytes on the connection of the last request. */
  say(bytes: string): void;
}

const json = JSON.stringify(chatAnswer);
const usual = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`;

export async function startRawUpstream(): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  const [reached, answers]: [RawReached[], string[]] = [[], []];
  let latest: Socket | null = null;
  const server = createServer((socket) => {
    sockets.add(socket);
    const closed = once(
      socket.on('error', () => undefined),
      'close',
    );
    let text = '';
    socket.setEncoding('latin1').on('data', (piece) => {
      text += piece;
      for (let read = readRequest(text); read !== null; read = readRequest(text)) {
        text = text.slice(read.length);
        reached.push({ ...read, closed });
        latest = socket;
        socket.write(answers.shift() ?? usual, 'latin1');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/v1`,
    host,
    reached,
    answers,
    say: (bytes) => void latest!.write(bytes, 'latin1'),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Uses only the declared length; null until the request is complete. */
function readRequest(text: string): { head: string; body: string; length: number } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.slice(0, end);
  const start = end + 4;
  const length = start + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return text.length < length ? null : { head, body: text.slice(start, length), length };
}
