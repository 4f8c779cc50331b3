/** Knows how to reach the database: the pool, its sessions, transactions, and what a lost connection means. */
import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, MysqlDialect, type MysqlPool } from 'kysely';
import type { Log } from '../log.ts';
import type { DatabaseSettings } from '../settings.ts';
import { createConnector } from './connect.ts';
import { ConnectionPool, type PoolFigures } from './pool.ts';
import type { Tables } from './rows.ts';
import type { ConnectionTls } from './tls.ts';
import { DatabaseUnavailable, isRetryable } from './unavailable.ts';
import { type WriterWatch, watchWriter } from './writer-watch.ts';

/** A pool or a transaction: store functions take either as their first argument. */
export type Db = Kysely<Tables>;

export interface Database extends AsyncDisposable {
  readonly db: Db;
  /**
   * For reads that may be stale: the writer, unless it is down and a reader may stand in
   * (MYSQL_WRITER_HADR_MODE). Never a reader while the writer works, so that who has written reads
   * what was written.
   */
  readonly readable: Db;
  /**
   * Runs `work` in one READ COMMITTED transaction; any error rolls back. A deadlock or lock-wait
   * timeout runs `work` again from its start, a few times.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /** Resolves when the writer answers; rejects within the connect timeout when it does not. */
  ping(): Promise<void>;
  /** Whether the writer is down and the reader answers {@link readable} in its place. */
  isStoodIn(): Promise<boolean>;
  /** Connections of the writer now, for metrics. */
  pool(): PoolFigures;
  /** What the latest connection got, or null before the first. */
  tls(): ConnectionTls | null;
}

export interface DatabaseOptions {
  readonly log?: Log;
  /** Stands in for reads while the writer is down; null or absent means none does. */
  readonly reader?: DatabaseSettings | null;
  /** Longest a statement may take, 10 seconds when absent; 0 means no limit. */
  readonly queryTimeoutMs?: number;
}

const queryTimeoutMsDefault = 10_000;
const attemptsMax = 5;
const retryDelayMs = 20;

/** Connects when first used. Dispose it to close the connections; running work is waited for. */
export function openDatabase(settings: DatabaseSettings, options: DatabaseOptions = {}): Database {
  const queryTimeoutMs = options.queryTimeoutMs ?? queryTimeoutMsDefault;
  const open = (endpoint: DatabaseSettings) => createConnector(endpoint, { log: options.log });
  const connector = open(settings);
  const writer = new ConnectionPool(connector, settings.poolSize, queryTimeoutMs);
  const parts = { db: build(writer), readable: build(writer), isStoodIn: async () => false };
  const { db, readable, isStoodIn, close } = reader === null ? ... 
function build(pool: MysqlPool): Db {
  return new Kysely<Tables>({ dialect: new MysqlDialect({ pool }) });
}

async function runTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (attempt === attemptsMax || !isRetryable(error)) throw error;
      // Random, so that two that met do not meet again.
      await delay(Math.random() * retryDelayMs * 2 ** attempt);
    }
  }
}

const writerRetryMs = 1_000;

/** Hands out the reader's connections while the writer's cannot be had, asking it again each second. */
function standIn(writer: ConnectionPool, reader: ConnectionPool): MysqlPool {
  let writerDownUntilMs = 0;
  const acquire = async () => {
    if (performance.now() < writerDownUntilMs) return reader.acquire();
    try {
      return await writer.acquire();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      writerDownUntilMs = performance.now() + writerRetryMs;
      return reader.acquire();
    }
  };
  return {
    getConnection: (callback) => {
      acquire().then(
        (connection) => callback(null, connection),
        (error: unknown) => callback(error, undefined as never),
      );
    },
    end: (callback) => callback(undefined),
  };
}
