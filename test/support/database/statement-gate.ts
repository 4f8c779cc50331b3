/** Knows how a test stops a process at one statement: a TCP link to its database that lets go on only what the test says. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DatabaseSettings } from '../../../src/settings.ts';

/** `lose`: it is carried out, and its answer never comes. */
type Fate = 'pass' | 'hold' | 'lose';

export interface StatementGate extends AsyncDisposable {
  /** The same database by way of the link. */
  readonly settings: DatabaseSettings;
}

/** Connections that are held carry nothing more. `before` are the statements of the same connection. */
export async function startStatementGate(
  real: DatabaseSettings,
  fateOf: (statement: string, before: readonly string[]) => Fate,
): Promise<StatementGate> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    const onward = connect(real.port, real.host);
    const before: string[] = [];
    onward.pipe(socket);
    // A statement of a few kilobytes comes as a whole, and the next one after its answer.
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
