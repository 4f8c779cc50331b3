/**
 * Simulates network failures between a server and its database: a TCP link that can be cut, frozen
 * or slow.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
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
  /** Forwards what clients send only after this time, which delays each statement by it. */
  slow(ms: number): void;
  /** Ends a cut or freeze, and forwards at once; data queued in a frozen link are forwarded. */
  mend(): void;
  /** Whether nothing is wrong with it, and no commit will be lost. */
  isWhole(): boolean;
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

/** A connection of a client, what delays its statements, and the connection to the server. */
type Line = readonly [Socket, Transform, Socket];

export async function startDatabaseLink(): Promise<DatabaseLink> {
  const lines = new Set<Line>();
  let delayMs = 0;
  const delayed = (): Transform =>
    new Transform({
      transform: (chunk: Buffer, _, done) => {
        if (delayMs === 0) done(null, chunk);
        else setTimeout(done, delayMs, null, chunk);
      },
    });
  let target: DatabaseSettings | undefined;
  let state: 'whole' | 'cut' | 'frozen' = 'whole';
  let losesCommit = false;
  const listener = createServer((socket) => {
    if (state === 'cut' || target === undefined) return void socket.destroy();
    const onward = connect(target.port, target.host);
    const line = [socket, delayed(), onward] as const;
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
    slow: (ms) => {
      delayMs = ms;
    },
    loseNextCommit: () => {
      losesCommit = true;
    },
    freeze: () => {
      state = 'frozen';
      for (const line of lines) hold(line);
    },
    mend: () => {
      // A line that is piped twice would send each statement twice.
      if (state === 'frozen') for (const line of lines) carry(line);
      state = 'whole';
      delayMs = 0;
    },
    isWhole: () => state === 'whole' && delayMs === 0 && !losesCommit,
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function carry([socket, delay, onward]: Line): void {
  socket.pipe(delay).pipe(onward).pipe(socket);
}

function hold(line: Line): void {
  for (const end of line) end.unpipe().pause();
}
