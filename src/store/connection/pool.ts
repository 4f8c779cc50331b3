/** Knows the pool of connections: how many, how long one waits, and which may be used again. */
import type { MysqlPool, MysqlPoolConnection, MysqlQueryResult } from 'kysely';
import type { Connection, Query, QueryError, QueryOptions } from 'mysql2';
import { Pool } from 'tarn';
import { type Connector, connectTimeoutMs, discard } from './connect.ts';
import { killConnection, type Stuck } from './kill.ts';
import { retrying } from './retry.ts';
import {
  DatabaseUnavailable,
  isConnectionSpent,
  isTimeout,
  isWriteRefusal,
  leavesOutcomeOpen,
  OutcomeUnknown,
} from './unavailable.ts';

const waitSecondsDefault = 5;
/** Two handshakes (PREFERRED) and the session's statements, each bounded by the connect timeout. */
const createTimeoutMs = 7 * connectTimeoutMs;
const idleTimeoutMs = 60_000;
const createRetryMs = 50;
/** Far below what the pool calls idle, and far above the time between two statements of a busy server. */
const atHandMs = 1_000;

export interface PoolFigures {
  /** Connections open now. */
  readonly size: number;
  readonly used: number;
  /** Callers waiting for a connection. */
  readonly pending: number;
}

/** Statements that change nothing, whatever becomes of them. */
const readPattern = /^\s*(?:select|show)\b/i;

type Callback = (error: unknown, result: MysqlQueryResult) => void;

/** What a connection asks of the pool that it is from. */
interface ConnectionOwner {
  release(connection: PooledConnection): void;
  /** Ends what the server still does for a connection that nobody listens to any more. */
  kill(stuck: Stuck): void;
  /** Takes note that the server takes no changes now. */
  noteWriteRefusal(): void;
}

/** One connection, in the shape the query builder takes it from its own driver's pool. */
class PooledConnection implements MysqlPoolConnection {
  readonly #raw: Connection;
  readonly #timeoutMs: number;
  readonly #owner: ConnectionOwner;
  #usable = true;
  /** Between `begin` and its end; what fails there is the transaction's to repeat. */
  #inTransaction = false;

  constructor(raw: Connection, timeoutMs: number, owner: ConnectionOwner) {
    this.#raw = raw;
    this.#timeoutMs = timeoutMs;
    this.#owner = owner;
    raw.on('error', () => this.destroy());
    // Not discarded here: the driver fails a running query only when it closes the socket itself.
    raw.on('end', () => {
      this.#usable = false;
    });
  }

  get usable(): boolean {
    return this.#usable;
  }

  get config(): object {
    return this.#raw.config;
  }

  get threadId(): number {
    return this.#raw.threadId;
  }

  /** Already connected. */
  connect(callback?: (error: unknown) => void): void {
    callback?.(null);
  }

  query(sql: string, values: QueryOptions['values']): Query;
  query(
    sql: string,
    values: QueryOptions['values'],
    callback: Callback,
    timeoutMs?: number,
  ): Promise<void>;
  query(
    sql: string,
    values: QueryOptions['values'],
    callback?: Callback,
    timeoutMs = this.#timeoutMs,
  ): Query | Promise<void> {
    const query = { sql, values, ...(timeoutMs > 0 ? { timeout: timeoutMs } : {}) };
    if (callback === undefined) return this.#raw.query(query);
    const ends = sql === 'commit' || sql === 'rollback';
    const isAlone = !this.#inTransaction && sql !== 'begin';
    if (sql === 'begin') this.#inTransaction = true;
    if (ends) this.#inTransaction = false;
    const send = (): Promise<MysqlQueryResult> => this.#send(query);
    const sending = isAlone && !ends ? retrying(send) : send();
    const settles = sql === 'commit' || (isAlone && !readPattern.test(sql));
    return sending.then(
      (result) => callback(null, result),
      (error: unknown) => {
        // The server rolls back what a lost connection left open; the error that led here matters more.
        if (sql === 'rollback') callback(null, []);
        else if (settles && leavesOutcomeOpen(error)) callback(new OutcomeUnknown(error), []);
        else callback(error, []);
      },
    );
  }

  async #send(query: QueryOptions): Promise<MysqlQueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<MysqlQueryResult>();
    this.#raw.query(query, (error: QueryError | null, result: unknown) =>
      error === null ? resolve(result as MysqlQueryResult) : reject(error),
    );
    try {
      return await promise;
    } catch (error) {
      if (isTimeout(error)) {
        this.#owner.kill({ threadId: this.threadId, ranMs: query.timeout ?? 0 });
      }
      if (isWriteRefusal(error)) this.#owner.noteWriteRefusal();
      if (isConnectionSpent(error) || query.sql === 'rollback') this.destroy();
      throw error;
    }
  }

  release(): void {
    this.#owner.release(this);
  }

  /** Never used again; the pool drops it when it comes back. */
  destroy(): void {
    if (!this.#usable) return;
    this.#usable = false;
    discard(this.#raw);
  }

  /** Takes leave of the server, without waiting for its answer. */
  async close(): Promise<void> {
    if (!this.#usable) return;
    this.#usable = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#raw.end(() => resolve());
    await promise;
    discard(this.#raw);
  }
}

interface PoolOptions {
  /** Connections at most. */
  readonly size: number;
  /** 0 means no limit. */
  readonly queryTimeoutMs: number;
  /** How long to wait for a free connection; 5 when left out. */
  readonly waitSeconds: number | undefined;
}

/**
 * Stands on tarn because the driver's own pool bounds no wait, checks no connection before it hands
 * it out, and cannot be told how to open one (two handshakes under PREFERRED, passwords that rotate).
 */
export class ConnectionPool implements MysqlPool {
  readonly #tarn: Pool<PooledConnection>;
  readonly #size: number;
  readonly #waitSeconds: number;
  readonly #connector: Connector;
  readonly #kills = new Set<Promise<void>>();
  /** Lent out in the eyes of the pool, whose lending takes timers and promises, and free all the same. */
  #atHand: PooledConnection[] = [];
  #closed: Promise<void> | undefined;
  #writeRefusedAtMs: number | null = null;

  constructor(connector: Connector, { size, queryTimeoutMs, waitSeconds }: PoolOptions) {
    this.#size = size;
    this.#waitSeconds = waitSeconds ?? waitSecondsDefault;
    this.#connector = connector;
    this.#tarn = new Pool<PooledConnection>({
      create: async () =>
        new PooledConnection(await connector.open(), queryTimeoutMs, {
          release: (connection) => this.#takeBack(connection),
          kill: (stuck) => this.#kill(stuck),
          noteWriteRefusal: () => {
            this.#writeRefusedAtMs = performance.now();
          },
        }),
      destroy: (connection) => connection.close(),
      validate: (connection) => connection.usable,
      min: 0,
      max: size,
      acquireTimeoutMillis: this.#waitSeconds * 1_000,
      createTimeoutMillis: createTimeoutMs,
      createRetryIntervalMillis: createRetryMs,
      idleTimeoutMillis: idleTimeoutMs,
      propagateCreateError: true,
    });
  }

  async acquire(): Promise<PooledConnection> {
    if (this.#closed !== undefined) throw closedError();
    const ready = this.#atHand.pop();
    if (ready?.usable) return ready;
    if (ready !== undefined) this.#tarn.release(ready);
    try {
      return await this.#tarn.acquire().promise;
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

  /** Whoever waits gets it; else it stays at hand for a while. */
  #takeBack(connection: PooledConnection): void {
    const isWanted = this.#tarn.numPendingAcquires() > 0;
    if (isWanted || this.#closed !== undefined || !connection.usable) {
      this.#tarn.release(connection);
      return;
    }
    if (this.#atHand.length === 0) setTimeout(() => this.#giveBack(), atHandMs).unref();
    this.#atHand.push(connection);
  }

  #giveBack(): void {
    for (const connection of this.#atHand.splice(0)) this.#tarn.release(connection);
  }

  getConnection(callback: (error: unknown, connection: MysqlPoolConnection) => void): void {
    handOver(this.acquire(), callback);
  }

  /** One round trip; rejects within the connect timeout, a frozen server's connection is dropped. */
  async ping(): Promise<void> {
    const deadlineMs = performance.now() + connectTimeoutMs;
    const connection = await this.#acquireBefore(deadlineMs);
    try {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const leftMs = Math.max(1, Math.ceil(deadlineMs - performance.now()));
      connection.query(
        'SELECT 1',
        [],
        (error) => (error === null ? resolve() : reject(error)),
        leftMs,
      );
      await promise;
    } finally {
      connection.release();
    }
  }

  async #acquireBefore(deadlineMs: number): Promise<PooledConnection> {
    const acquiring = this.acquire();
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

  /** When a change was last refused, by `performance.now()`; null when none ever was. */
  get writeRefusedAtMs(): number | null {
    return this.#writeRefusedAtMs;
  }

  figures(): PoolFigures {
    const atHand = this.#atHand.length;
    const used = this.#tarn.numUsed() - atHand;
    const pending = this.#tarn.numPendingAcquires();
    return { size: used + atHand + this.#tarn.numFree(), used, pending };
  }

  /** Waits for running work, then closes every connection. */
  end(callback: (error: unknown) => void): void {
    this.close().then(() => callback(undefined), callback);
  }

  close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    this.#giveBack();
    this.#closed = this.#tarn
      .destroy()
      .then(() => Promise.all(this.#kills))
      .then(() => undefined);
    return this.#closed;
  }

  /** In the background: who waited for the statement has waited long enough. */
  #kill(stuck: Stuck): void {
    const killing = killConnection(this.#connector, stuck)
      // A server that cannot be reached now sees by itself, later, that the connection is gone.
      .catch(() => undefined)
      .finally(() => this.#kills.delete(killing));
    this.#kills.add(killing);
  }
}

/** The query builder's view of any source of connections; who made the pools behind it ends them. */
export function poolOf(acquire: () => Promise<MysqlPoolConnection>): MysqlPool {
  return {
    getConnection: (callback) => handOver(acquire(), callback),
    end: (callback) => callback(undefined),
  };
}

function handOver(
  acquiring: Promise<MysqlPoolConnection>,
  callback: (error: unknown, connection: MysqlPoolConnection) => void,
): void {
  acquiring.then(
    (connection) => callback(null, connection),
    (error: unknown) => callback(error, undefined as never),
  );
}

function closedError(cause?: unknown): DatabaseUnavailable {
  return new DatabaseUnavailable('The database is being closed', { cause });
}
