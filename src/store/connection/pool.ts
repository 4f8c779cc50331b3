/** The connection pool: limits the number of connections and the wait for one, and closes idle ones. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Connection } from 'mysql2';
import { Pool } from 'tarn';
import type { Log } from '../../log.ts';
import type { Connector } from './connect.ts';
import { killConnection, type Stuck } from './kill.ts';
import { PooledConnection } from './pooled-connection.ts';
import { DatabaseUnavailable, isServerFull } from './unavailable.ts';
import { WaitingWork } from './waiting-work.ts';

const waitSecondsDefault = 5;
/** Two handshakes (PREFERRED) and the session's statements, each bounded by the connect timeout. */
const createStepsMax = 8;
const pingTimeoutMs = 2_000;
const idleTimeoutMs = 60_000;
const createRetryMs = 50;
/** Share of the server's time limit for unused connections: a statement must not be sent when the server ends one. */
const unusedShare = 0.5;
/** Far below the pool's idle timeout, and far above the time between two statements of a busy server. */
const readyMs = 1_000;

export interface PoolFigures {
  /** Connections open now. */
  readonly size: number;
  readonly used: number;
  /** Callers waiting for a connection. */
  readonly pending: number;
}

interface PoolOptions {
  /** Maximum number of connections. */
  readonly size: number;
  /** 0 means no limit. */
  readonly queryTimeoutMs: number;
  /** Longest wait for a free connection; default 5. */
  readonly waitSeconds: number | undefined;
  readonly log: Log | undefined;
}

/**
 * Uses tarn because the driver's own pool does not limit the wait, does not validate a connection before
 * lending it, and cannot use a custom connect (two handshakes under PREFERRED, rotating passwords).
 */
export class ConnectionPool {
  readonly #tarn: Pool<PooledConnection>;
  readonly #size: number;
  readonly #waitSeconds: number;
  readonly #connector: Connector;
  readonly #kills = new Set<Promise<void>>();
  /** The work that waits for the server. */
  readonly waiting: WaitingWork;
  /** Free connections that tarn counts as lent, because lending by tarn costs timers and promises. */
  #ready: PooledConnection[] = [];
  #closed: Promise<void> | undefined;
  #writeRefusedAtMs: number | null = null;

  constructor(connector: Connector, { size, queryTimeoutMs, waitSeconds, log }: PoolOptions) {
    this.waiting = new WaitingWork(connector, log);
    this.#size = size;
    this.#waitSeconds = waitSeconds ?? waitSecondsDefault;
    this.#connector = connector;
    this.#tarn = new Pool<PooledConnection>({
      create: async () => this.#wrap(await this.#open(), queryTimeoutMs),
      destroy: (connection) => {
        this.waiting.delete(connection);
        return connection.close();
      },
      validate: (connection) => connection.usable,
      min: 0,
      max: size,
      acquireTimeoutMillis: this.#waitSeconds * 1_000,
      createTimeoutMillis: createStepsMax * connector.timeoutMs,
      createRetryIntervalMillis: createRetryMs,
      idleTimeoutMillis: idleTimeoutMs,
      propagateCreateError: true,
    });
  }

  #wrap(raw: Connection, queryTimeoutMs: number): PooledConnection {
    const unusedMsMax = this.#connector.idleMsOf(raw) * unusedShare;
    const connection = new PooledConnection(
      raw,
      { queryTimeoutMs, unusedMsMax },
      {
        release: (lent) => this.#takeBack(lent),
        kill: (stuck) => this.#kill(stuck),
        noteWriteRefusal: () => {
          this.#writeRefusedAtMs = performance.now();
        },
      },
    );
    return this.waiting.add(connection);
  }

  async acquire(): Promise<PooledConnection> {
    if (this.#closed !== undefined) throw closedError();
    this.waiting.requireReach();
    const ready = this.#ready.pop();
    if (ready?.usable) return ready;
    if (ready !== undefined) this.#tarn.release(ready);
    try {
      return await this.waiting.acquire(this.#tarn.acquire());
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      if (this.#closed !== undefined) throw closedError(error);
      throw new DatabaseUnavailable(
        `No database connection became free within ${this.#waitSeconds} seconds; all ` +
          `${this.#size} (DB_POOL_SIZE) are busy or cannot be opened`,
        { cause: error },
      );
    }
  }

  /** Retries while the server's connection limit is reached and a lent connection may come back. */
  async #open(): Promise<Connection> {
    for (;;) {
      try {
        return await this.#connector.open();
      } catch (error) {
        if (!isServerFull(error) || !this.#canWaitForRelease()) throw error;
      }
      await wait(createRetryMs);
    }
  }

  /** Whether a pending caller can get a connection that is lent now. */
  #canWaitForRelease(): boolean {
    const isOpen = this.#closed === undefined;
    return isOpen && this.#tarn.numUsed() > 0 && this.#tarn.numPendingAcquires() > 0;
  }

  /** Gives the connection to a waiting caller, or retains it for a second. */
  #takeBack(connection: PooledConnection): void {
    const isWanted = this.#tarn.numPendingAcquires() > 0;
    if (isWanted || this.#closed !== undefined || !connection.usable) {
      this.#tarn.release(connection);
      return;
    }
    if (this.#ready.length === 0) setTimeout(() => this.#giveBack(), readyMs).unref();
    this.#ready.push(connection);
  }

  #giveBack(): void {
    for (const connection of this.#ready.splice(0)) this.#tarn.release(connection);
  }

  /** One round trip; rejects within 2 seconds, a frozen server's connection is dropped. */
  async ping(): Promise<void> {
    const deadlineMs = performance.now() + pingTimeoutMs;
    const connection = await before(deadlineMs, this.acquire());
    try {
      await connection.ping(Math.max(1, Math.ceil(deadlineMs - performance.now())));
    } finally {
      connection.release();
    }
  }

  /** When a change was last rejected, by `performance.now()`; null for never. */
  get writeRefusedAtMs(): number | null {
    return this.#writeRefusedAtMs;
  }

  figures(): PoolFigures {
    const ready = this.#ready.length;
    const used = this.#tarn.numUsed() - ready;
    const pending = this.#tarn.numPendingAcquires();
    return { size: used + ready + this.#tarn.numFree(), used, pending };
  }

  /** Waits for running work, then closes every connection. */
  close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    this.#giveBack();
    this.waiting.stop();
    this.#closed = this.#tarn
      .destroy()
      .then(() => Promise.all(this.#kills))
      .then(() => undefined);
    return this.#closed;
  }

  /** Runs in the background, because the caller has already timed out. */
  #kill(stuck: Stuck): void {
    const killing = killConnection(this.#connector, stuck)
      // An unreachable server later notices the lost connection itself.
      .catch(() => undefined)
      .finally(() => this.#kills.delete(killing));
    this.#kills.add(killing);
  }
}

/** Waits for a connection, which is given back when it comes too late. */
async function before(
  deadlineMs: number,
  acquiring: Promise<PooledConnection>,
): Promise<PooledConnection> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new DatabaseUnavailable('No database connection became free in time'));
  }, deadlineMs - performance.now());
  try {
    return await Promise.race([acquiring, late]);
  } catch (error) {
    acquiring.then((connection) => connection.release()).catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function closedError(cause?: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable('The database is being closed', { cause });
}
