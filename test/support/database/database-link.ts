/** Knows how the way from a server to its database fails: a TCP link that can be cut, or carry nothing. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DatabaseSettings } from '../../../src/settings.ts';

export interface DatabaseLink extends AsyncDisposable {
  /** The same database by way of the link. */
  lead(real: DatabaseSettings): Promise<DatabaseSettings>;
  /** As {@link lead}, for one that will be frozen: to connect and a statement take no longer than by default. */
  leadHasty(real: DatabaseSettings): Promise<DatabaseSettings>;
  /** Breaks every connection and refuses new ones, as a server that was killed. */
  cut(): void;
  /** Breaks the connection that carries the next COMMIT, once the server has carried it out. */
  loseNextCommit(): void;
  /** Keeps connections open, and takes new ones, but carries nothing, as a server that hangs. */
  freeze(): void;
  /** Ends either; what waited in a frozen link is carried. */
  mend(): void;
}

/** Whether bytes are a COMMIT and nothing else: MySQL, unlike MariaDB, is sent attributes before the text. */
function isCommit(bytes: Buffer): boolean {
  const headerBytes = 4;
  const attributesMax = 2;
  return (
    bytes.length <= headerBytes + '\x03commit'.length + attributesMax &&
    bytes.at(headerBytes) === 3 &&
    bytes.toString('latin1').endsWith('commit')
  );
}

export async function startDatabaseLink(): Promise<DatabaseLink> {
  const lines = new Set<readonly [Socket, Socket]>();
  let target: DatabaseSettings | undefined;
  let state: 'whole' | 'cut' | 'frozen' = 'whole';
  let losesCommit = false;
  const listener = createServer((socket) => {
    if (state === 'cut' || target === undefined) return void socket.destroy();
    const onward = connect(target.port, target.host);
    const line = [socket, onward] as const;
    lines.add(line);
    socket.on('data', (chunk: Buffer) => {
      if (!losesCommit || !isCommit(chunk)) return;
      losesCommit = false;
      // What is piped no more flows no more, until it is told to.
      onward
        .unpipe(socket)
        .once('data', () => socket.destroy())
        .resume();
    });
    // Nobody reads yet: with the first reader it would flow before it is carried.
    socket.pause();
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
  const lead = async (real: DatabaseSettings): Promise<DatabaseSettings> => {
    target = real;
    return { ...real, host: '127.0.0.1', port };
  };
  return {
    lead,
    leadHasty: async (real) => ({
      ...(await lead(real)),
      connectTimeoutSeconds: 2,
      statementSeconds: 10,
    }),
    cut,
    loseNextCommit: () => {
      losesCommit = true;
    },
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
