/** Opens the database: pools for writer and reader, and transactions with retries. */
import type { Kysely } from 'kysely';
import type { Log } from '../../log.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { runDeferred } from './before-commit.ts';
import { type Connector, createConnector, statementMsOf } from './connect.ts';
import { type Acquire, buildOn, withDirectExecution } from './dialect.ts';
import { ConnectionPool, type PoolFigures } from './pool.ts';
import { ReachWatch } from './reach-watch.ts';
import { retrying } from './retry.ts';
import type { ConnectionTls } from './tls.ts';
import { DatabaseUnavailable } from './unavailable.ts';

/** Row types by table, for the query builder. Each table's file declares its own by module augmentation. */
export interface Tables extends Record<never, never> {}

/** A pool or a transaction; the first argument of store functions. */
export type Db = Kysely<Tables>;

export interface Database extends AsyncDisposable {
  readonly db: Db;
  /**
   * For reads that may be stale: the writer, or the reader while the writer is down
   * (MYSQL_WRITER_HADR_MODE). Never the reader while the writer works, so that callers read their writes.
   */
  readonly readable: Db;
  /**
   * Runs `work` in one READ COMMITTED transaction; any error rolls back. After a deadlock or lock-wait
   * timeout `work` runs again from its start, a few times; statements outside transactions are retried
   * by the same rule. `attemptsMax` 1 disables the retry for a caller with its own.
   */
  transaction<T>(work: (tx: Db) => Promise<T>, attemptsMax?: number): Promise<T>;
  /** Resolves when the writer responds; rejects within 2 seconds otherwise. */
  ping(): Promise<void>;
  /** Whether {@link readable} is known not to respond, so that all work fails at once until it does. */
  isAway(): boolean;
  /** Finds out whether the servers respond, because work has waited for long. */
  suspect(): void;
  /** Whether the writer is down and the reader serves {@link readable}. */
  isReaderInUse(): Promise<boolean>;
  /**
   * When the writer last rejected a change because it accepts none (full disk, read-only server), by
   * `performance.now()`; null for never.
   */
  writeRefusedAtMs(): number | null;
  /** Connections of the writer, for metrics. */
  pool(): PoolFigures;
  /** TLS of the latest connection; null before the first. */
  tls(): ConnectionTls | null;
}

export interface DatabaseOptions {
  readonly log?: Log;
  /** Serves reads while the writer is down; null or absent disables this. */
  readonly reader?: DatabaseSettings | null;
  /** Time limit of a statement; from the settings when absent, 0 for none. */
  readonly queryTimeoutMs?: number;
}

/** Connects on first use. Disposing waits for running work and closes the connections. */
export function openDatabase(settings: DatabaseSettings, options: DatabaseOptions = {}): Database {
  const { log, reader, queryTimeoutMs = statementMsOf(settings) } = options;
  const { poolWaitSeconds } = settings;
  const open = (connector: Connector, size: number) =>
    new ConnectionPool(connector, { size, queryTimeoutMs, waitSeconds: poolWaitSeconds, log });
  const connector = createConnector(settings, { log, isPooled: true });
  const writer = open(connector, settings.poolSize);
  if (!reader) return databaseOn(connector, writer, writerOnly(writer));
  // Pings on a connection of its own: a fully used pool does not mean that the writer is down.
  const probe = open(connector, 1);
  const readerPool = open(createConnector(reader, { log, isPooled: true }), reader.poolSize);
  return databaseOn(connector, writer, withReader(writer, probe, readerPool, log));
}

/** Sources of connections for work that needs the writer and for reads that may be stale. */
interface Roles extends Pick<Database, 'isReaderInUse' | 'isAway' | 'suspect'> {
  readonly writable: Acquire;
  readonly readable: Acquire;
  close(): Promise<unknown>;
}

function databaseOn(connector: Connector, writer: ConnectionPool, roles: Roles): Database {
  const db = buildOn<Tables>(roles.writable);
  return {
    db,
    readable: buildOn<Tables>(roles.readable),
    transaction: (work, attemptsMax) => {
      const whole = (tx: Db) =>
        withDirectExecution(tx, async () => {
          const result = await work(tx);
          await runDeferred(tx);
          return result;
        });
      return retrying(() => db.transaction().execute(whole), attemptsMax);
    },
    ping: () => writer.ping(),
    isAway: roles.isAway,
    suspect: roles.suspect,
    isReaderInUse: roles.isReaderInUse,
    writeRefusedAtMs: () => writer.writeRefusedAtMs,
    pool: () => writer.figures(),
    tls: () => connector.tls(),
    [Symbol.asyncDispose]: async () => {
      await roles.close();
    },
  };
}

function writerOnly(writer: ConnectionPool): Roles {
  return {
    writable: () => writer.acquire(),
    readable: () => writer.acquire(),
    isAway: () => writer.waiting.isAway(),
    suspect: () => writer.waiting.suspect(),
    isReaderInUse: async () => false,
    close: () => writer.close(),
  };
}

/** While the writer is down, its own work fails at once and the reader serves reads. */
function withReader(
  writer: ConnectionPool,
  probe: ConnectionPool,
  reader: ConnectionPool,
  log: Log | undefined,
): Roles {
  const watch = new ReachWatch({
    probe: () => probe.ping(),
    // Reads continue at the reader whatever the writer lacks.
    isAwayAfter: () => true,
    messages: {
      away: 'the database writer does not answer; reads go to the reader',
      back: 'the database writer is back; reads no longer go to the reader',
    },
    log,
  });
  return {
    writable: async () => {
      if (await watch.isUp()) return writer.acquire();
      throw new DatabaseUnavailable('The database does not respond', { cause: watch.fault });
    },
    readable: async () => {
      if (!(await watch.isUp())) return reader.acquire();
      try {
        return await writer.acquire();
      } catch (error) {
        if (await watch.isStillUp()) throw error;
        return reader.acquire();
      }
    },
    isAway: () => watch.fault !== null && reader.waiting.isAway(),
    suspect: () => {
      writer.waiting.suspect();
      reader.waiting.suspect();
    },
    isReaderInUse: async () => {
      if (await watch.isUp()) return false;
      return reader.ping().then(
        () => true,
        () => false,
      );
    },
    close: () => {
      watch.stop();
      return Promise.all([writer.close(), probe.close(), reader.close()]);
    },
  };
}
