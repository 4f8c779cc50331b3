/** Counts the commands that processes send to their database, in the bytes on the way. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DatabaseSettings } from '../../../src/settings.ts';

export interface CommandCounter extends AsyncDisposable {
  /** Returns settings that reach the database through the counter; the connections must be plain. */
  lead(real: DatabaseSettings): DatabaseSettings;
  /** Number of queries, executions, preparations and pings. */
  readonly commands: number;
  reset(): void;
}

/** COM_QUERY, COM_PING, COM_STMT_PREPARE, COM_STMT_EXECUTE. */
const counted = new Set([0x03, 0x0e, 0x16, 0x17]);
const headerBytes = 4;

/** Yields the code of each command in a stream of packets, which each begin with their length and number. */
class CommandReader {
  #buffered = Buffer.alloc(0);

  read(chunk: Buffer): number[] {
    const codes: number[] = [];
    this.#buffered = Buffer.concat([this.#buffered, chunk]);
    for (;;) {
      if (this.#buffered.length < headerBytes) return codes;
      const end = headerBytes + this.#buffered.readUIntLE(0, 3);
      if (this.#buffered.length < end) return codes;
      const isFirst = this.#buffered[3] === 0;
      if (isFirst && end > headerBytes) codes.push(this.#buffered[headerBytes]!);
      this.#buffered = this.#buffered.subarray(end);
    }
  }
}

export async function startCommandCounter(): Promise<CommandCounter> {
  const sockets = new Set<Socket>();
  let target: DatabaseSettings | null = null;
  let commands = 0;
  const listener = createServer((socket) => {
    const onward = connect(target!.port, target!.host);
    const reader = new CommandReader();
    socket.on('data', (chunk: Buffer) => {
      commands += reader.read(chunk).filter((code) => counted.has(code)).length;
    });
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => {});
      end.on('close', () => sockets.delete(end));
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    lead: (real) => {
      target = real;
      const { port } = listener.address() as AddressInfo;
      return { ...real, host: '127.0.0.1', port };
    },
    get commands() {
      return commands;
    },
    reset: () => {
      commands = 0;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
