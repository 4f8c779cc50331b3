/** Knows how to reach the database: the pool, its sessions, transactions, and what a lost connection means. */
import type { Kysely } from 'kysely';
import type { Log } from '../../log.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { doLast } from './before-commit.ts';
import { type Connector, createConnector, statementMsOf } from './connect.ts';
import { type Acquire, buildOn, withShortWay } from './dialect.ts';
import { ConnectionPool, type PoolFigures } from './pool.ts';
import { retrying } from './retry.ts';
import type { ConnectionTls } from './tls.ts';
import { watchWriter } from './writer-watch.ts';

/** Every table by name, for the query builder; each file of `tables/` adds the rows that it knows. */
export interface Tables extends Record<never, never> {}

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
   * timeout runs `work` again from its start, a few times; a statement outside of transactions is
   * tried again by the same rule. `attemptsMax` 1 means that the caller has a rule of its own.
   */
  transaction<T>(work: (tx: Db) => Promise<T>, attemptsMax?: number): Promise<T>;
  /** Resolves when the writer answers; rejects within 2 seconds when it does not. */
  ping(): Promise<void>;
  /** Whether the writer is down and the reader answers {@link readable} in its place. */
  isStoodIn(): Promise<boolean>;
  /**
   * When the writer last refused a change because it takes none (a full disk, a server that is read
   * only), by `performance.now()`; null when it never did.
   */
  writeRefusedAtMs(): number | null;
  /** Connections of the writer now, for metrics. */
  pool(): PoolFigures;
  /** What the latest connection got, or null before the first. */
  tls(): ConnectionTls | null;
}

export interface DatabaseOptions {
  readonly log?: Log;
  /** Stands in for reads while the writer is down; null or absent means none does. */
  readonly reader?: DatabaseSettings | null;
  /** Longest a statement may take, as the settings say when absent; 0 means no limit. */
  readonly queryTimeoutMs?: number;
}

/** Connects when first used. Dispose it to close the connections; running work is waited for. */
export function openDatabase(settings: DatabaseSettings, options: DatabaseOptions = {}): Database {
  const { log, reader, queryTimeoutMs = statementMsOf(settings) } = options;
  const { poolWaitSeconds } = settings;
  const open = (connector: Connector, size: number) =>
    new ConnectionPool(connector, { size, queryTimeoutMs, waitSeconds: poolWaitSeconds });
  const connector = createConnector(settings, { log });
  const writer = open(connector, settings.poolSize);
  if (!reader) return databaseOn(connector, writer, alone(writer));
  // Asks on a connection of its own: a pool in full use is not a writer that is down.
  const probe = open(connector, 1);
  const standIn = open(createConnector(reader, { log }), reader.poolSize);
  return databaseOn(connector, writer, withReader(writer, probe, standIn, log));
}

/** Where connections come from, for work that needs the writer and for reads that may be stale. */
interface Roles extends Pick<Database, 'isStoodIn'> {
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
        withShortWay(tx, async () => {
          const result = await work(tx);
          await doLast(tx);
          return result;
        });
      return retrying(() => db.transaction().execute(whole), attemptsMax);
    },
    ping: () => writer.ping(),
    isStoodIn: roles.isStoodIn,
    writeRefusedAtMs: () => writer.writeRefusedAtMs,
    pool: () => writer.figures(),
    tls: () => connector.tls(),
    [Symbol.asyncDispose]: async () => {
      await roles.close();
    },
  };
}

function alone(writer: ConnectionPool): Roles {
  return {
    writable: () => writer.acquire(),
    readable: () => writer.acquire(),
    isStoodIn: async () => false,
    close: () => writer.close(),
  };
}

/** While the writer is down its own work fails at once, and the reader takes the reads. */
function withReader(
  writer: ConnectionPool,
  probe: ConnectionPool,
  reader: ConnectionPool,
  log: Log | undefined,
): Roles {
  const watch = watchWriter(() => probe.ping(), log);
  return {
    writable: async () => {
      if (await watch.isUp()) return writer.acquire();
      throw watch.unavailable();
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
    isStoodIn: async () => {
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
