/** Knows how to reach the database: the pool, its sessions, transactions, and what a lost connection means. */
import { Kysely, MysqlDialect } from 'kysely';
import { createPool } from 'mysql2';
import type { DatabaseSettings } from '../settings.ts';
import type { Tables } from './rows.ts';

/** A pool or a transaction: store functions take either as their first argument. */
export type Db = Kysely<Tables>;

export interface Database extends AsyncDisposable {
  readonly db: Db;
  /**
   * Runs `work` in one READ COMMITTED transaction; any error rolls back. A deadlock or lock-wait
   * timeout runs `work` again from its start, a few times.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /** Resolves when the database answers; rejects within the connect timeout when it does not. */
  ping(): Promise<void>;
}

export function openDatabase(settings: DatabaseSettings): Database {
  const pool = createPool({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password?.reveal(),
    database: settings.name,
    connectionLimit: settings.poolSize,
    ...(settings.socketPath === null ? {} : { socketPath: settings.socketPath }),
  });
  const db = new Kysely<Tables>({ dialect: new MysqlDialect({ pool }) });
  return {
    db,
    transaction: (work) => db.transaction().execute(work),
    ping: async () => {
      await db.selectNoFrom((eb) => eb.lit(1).as('one')).execute();
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}
