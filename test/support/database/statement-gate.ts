/**
 * Stops a process at one statement: a TCP link to its database that forwards only what the test
 * permits.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DatabaseSettings } from '../../../src/settings.ts';

/** `lose`: the statement is executed, and its response is never forwarded. */
type Fate = 'pass' | 'hold' | 'lose';

export interface StatementGate extends AsyncDisposable {
  /** Settings that reach the database through the link. */
  readonly settings: DatabaseSettings;
}

/**
 * Held connections forward nothing more. `before` contains the earlier statements of the same
 * connection.
 */
export async function startStatementGate(
  real: DatabaseSettings,
  fateOf: (statement: string, before: readonly string[]) => Fate,
): Promise<StatementGate> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    const onward = connect(real.port, real.host);
    const before: string[] = [];
    onward.pipe(socket);
    // A statement of a few kilobytes arrives in one piece, and the next one after its response.
    socket.on('data', (bytes: Buffer) => {
      const statement = bytes.toString('latin1');
      const fate = fateOf(statement, before);
      before.push(statement);
      if (fate === 'lose') onward.unpipe(socket).resume();
      if (fate === 'hold') socket.pause();
      else onward.write(bytes);
    });
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(end);
      end
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(end);
          other.destroy();
        });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  return {
    settings: { ...real, host: '127.0.0.1', port },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
