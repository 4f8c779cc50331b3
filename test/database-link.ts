/** Knows how the way from a server to its database fails: a TCP link that can be cut, or carry nothing. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DatabaseSettings } from '../src/settings.ts';

export interface DatabaseLink extends AsyncDisposable {
  /** The same database by way of the link. */
  lead(real: DatabaseSettings): Promise<DatabaseSettings>;
  /** Breaks every connection and refuses new ones, as a server that was killed. */
  cut(): void;
  /** Keeps connections open, and takes new ones, but carries nothing, as a server that hangs. */
  freeze(): void;
  /** Ends either; what waited in a frozen link is carried. */
  mend(): void;
}

export async function startDatabaseLink(): Promise<DatabaseLink> {
  const lines = new Set<readonly [Socket, Socket]>();
  let target: DatabaseSettings | undefined;
  let state: 'whole' | 'cut' | 'frozen' = 'whole';
  const listener = createServer((socket) => {
    if (state === 'cut' || target === undefined) return void socket.destroy();
    const onward = connect(target.port, target.host);
    const line = [socket, onward] as const;
    lines.add(line);
    for (const end of line) {
      end
        .on('error', () => {})
        .on('close', () => {
          for (const other of line) other.destroy();
          lines.delete(line);
        });
    }
    if (state === 'whole') carry(line);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const cut = (): void => {
    state = 'cut';
    for (const [socket] of lines) socket.destroy();
  };
  return {
    lead: async (real) => {
      target = real;
      return { ...real, host: '127.0.0.1', port };
    },
    cut,
    freeze: () => {
      state = 'frozen';
      for (const line of lines) hold(line);
    },
    mend: () => {
      state = 'whole';
      for (const line of lines) carry(line);
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function carry([one, other]: readonly [Socket, Socket]): void {
  one.pipe(other).pipe(one);
}

function hold(line: readonly [Socket, Socket]): void {
  for (const end of line) end.unpipe().pause();
}
