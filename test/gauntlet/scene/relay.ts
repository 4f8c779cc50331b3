/** Forwards TCP connections to a port of this machine that is chosen for each. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface RelayAddress {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
}

export interface Relay extends AsyncDisposable {
  readonly server: Server;
}

/** `portOf` returns undefined where no target is able; the connection is then closed. */
export async function startRelay(
  { host, port }: RelayAddress,
  portOf: () => number | undefined,
): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const chosen = portOf();
    if (chosen === undefined) return void socket.destroy();
    const onward = connect(chosen, '127.0.0.1');
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(end);
      end
        .on('error', () => undefined)
        .on('close', () => {
          other.destroy();
          sockets.delete(end);
        });
      end.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    server,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
