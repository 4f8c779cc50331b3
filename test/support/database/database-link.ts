/**
 * Simulates network failures between a server and its database: a TCP link that can be cut or
 * frozen.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DatabaseSettings } from '../../../src/settings.ts';

export interface DatabaseLink extends AsyncDisposable {
  /** Returns settings that reach the database through the link. */
  lead(real: DatabaseSettings): Promise<DatabaseSettings>;
  /**
   * Like {@link lead}, for a link that will be frozen: uses the default timeouts for connections
   * and statements.
   */
  leadHasty(real: DatabaseSettings): Promise<DatabaseSettings>;
  /** Breaks every connection and refuses new ones, like a killed server. */
  cut(): void;
  /** Breaks the connection that carries the next COMMIT, after the server has executed it. */
  loseNextCommit(): void;
  /** Keeps connections open and accepts new ones, but forwards nothing, like a hanging server. */
  freeze(): void;
  /** Ends a cut or freeze; data queued in a frozen link are forwarded. */
  mend(): void;
}

/**
 * Returns whether the bytes are exactly a COMMIT. MySQL, unlike MariaDB, receives attributes before
 * the text.
 */
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
      // A socket that is no longer piped pauses until it is resumed.
      onward
        .unpipe(socket)
        .once('data', () => socket.destroy())
        .resume();
    });
    // Nobody reads yet: with the first reader it would flow before it is forwarded.
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
